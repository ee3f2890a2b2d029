// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/driver.hpp"
#include "hosts/stored_messages.hpp"
#include "radio/zmq/settings.hpp"

namespace iqd::radio::nats {

class NatsSourceOptions final : public SourceOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  StreamInfo describe(const Section& section) const override;
  std::unique_ptr<Source> open() const override;
  Needs needs(const StreamInfo& stream) const override;

 private:
  hosts::LinkConfig link_;
  std::string stream_;
  std::string reader_ = "iqd";
  hosts::ReadFrom from_ = hosts::ReadFrom::now;
  double rate_hz_ = 0;
  zmq::SourceSettings settings_;  // of the messages; without the rate
};

class NatsSinkOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  void check(const PortFormat& format, const Section& section) const override;
  std::unique_ptr<Sink> open(const PortFormat& format) const override;
  bool reconnects() const override { return true; }
  std::int64_t buffer_bytes() const override { return buffer_; }
  Needs needs(const PortFormat& format) const override;

 private:
  hosts::LinkConfig link_;
  hosts::StreamConfig stream_;
  std::string topic_;
  std::int64_t buffer_ = 64 << 20;
};

}  // namespace iqd::radio::nats
