// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "radio/uhd/transmitter.hpp"

namespace iqd::radio::usrp {

/// Transmits `[n]` or `[channel][n]` through one or several USRPs. The samples are one burst, or each message is one;
/// with `timed` a new burst begins, at its own time, at a gap in the stream or after an underflow. Throws once the
/// device is gone.
class UhdSink final : public Sink {
 public:
  UhdSink(const Settings& settings, const Timing& timing, Element element)
      : transmitter_(std::make_shared<Transmitter>(settings, timing, element)) {}
  ~UhdSink() override {
    transmitter_->leave();
    const std::string name = transmitter_->name();
    close_in_time(name, [t = std::move(transmitter_)]() mutable { t.reset(); });
  }
  bool send(const Message& message) override { return transmitter_->send(message); }
  void finish() override { transmitter_->finish(); }
  SinkCounts counts() const noexcept override { return transmitter_->counts(); }
  DeviceKeys device_keys() const override { return transmitter_->keys(); }
  void interrupt() noexcept override { transmitter_->interrupt(); }

 private:
  std::shared_ptr<Transmitter> transmitter_;
};

}  // namespace iqd::radio::usrp
