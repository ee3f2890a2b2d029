// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "base/driver.hpp"
#include "config/fields.hpp"
#include "radio/zmq/settings.hpp"

namespace iqd::radio::zmq {

class ZmqSourceOptions final : public SourceOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  StreamInfo describe(const Section& section) const override;
  std::unique_ptr<Source> open() const override;
  Needs needs(const StreamInfo& stream) const override;
  Claims claims() const override { return settings_.endpoints.claims(); }
  std::vector<std::string> waits_for() const override;
  double opening_wait_s() const override;

 private:
  SourceSettings settings() const;

  SourceSettings settings_;  // without the rate
  std::optional<double> rate_hz_;
};

class ZmqSinkOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  void check(const PortFormat& format, const Section& section) const override;
  std::unique_ptr<Sink> open(const PortFormat& format) const override;
  Needs needs(const PortFormat& format) const override;
  Claims claims() const override { return settings_.endpoints.claims(); }
  std::pair<std::string, std::string> topic_at() const override;

 private:
  SinkSettings settings_;
};

}  // namespace iqd::radio::zmq
