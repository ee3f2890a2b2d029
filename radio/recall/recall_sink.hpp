// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/driver.hpp"
#include "config/fields.hpp"
#include "radio/recall/memory.hpp"

namespace iqd::radio::recall {

struct SinkSettings {
  std::string name;
  double keep_s = 0;
  double delay_s = 0;
};

/// Keeps the last samples of a stream in a memory, each with its time plus `delay`. Samples of an earlier sink of the
/// same format remain.
class RecallSink final : public Sink {
 public:
  RecallSink(const SinkSettings& settings, const PortFormat& format);
  ~RecallSink() override { memory_->close(); }
  RecallSink(const RecallSink&) = delete;
  RecallSink& operator=(const RecallSink&) = delete;
  bool send(const Message& message) override;

 private:
  Kept kept_;
  std::int64_t delay_ns_;
  std::shared_ptr<Memory> memory_;
  std::unique_ptr<Ring> ring_;  // until the first message, so that an earlier sink continues until then
  bool begun_ = false;
};

class RecallSinkOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  void check(const PortFormat& format, const Section& section) const override;
  std::unique_ptr<Sink> open(const PortFormat& format) const override;
  Needs needs(const PortFormat& format) const override;

 private:
  SinkSettings settings_;
};

}  // namespace iqd::radio::recall
