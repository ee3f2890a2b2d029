// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "radio/soapy-modules/sim/device/stream.hpp"
#include "radio/soapy-modules/sim/scenarios/air.hpp"
#include "radio/soapy-modules/sim/scenarios/arguments.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

namespace iqd::sim {

/// What the antennas receive and send, in the formats of the streams: a scenario, and the air that it may hear. One
/// thread may receive while another transmits.
class Medium {
 public:
  struct Size {
    double rate_hz;
    int rx_channels;
    int tx_channels;
    std::int64_t kept;  // transmitted samples of a channel
  };
  /// `arguments` must outlive it. Throws std::invalid_argument.
  Medium(const Arguments& arguments, const Size& size);

  /// Does the slow work before the clock runs.
  void prepare() { scenario_->prepare(); }
  /// Allocates the memory of the channels that a stream transmits on.
  void open(const Stream& tx);
  /// Writes positions rx.next, rx.next + 1, … into the buffers.
  void receive(Stream& rx, void* const* buffers, std::int64_t samples);
  /// Sends these samples from position tx.next on.
  void transmit(Stream& tx, const void* const* buffers, std::int64_t samples);

 private:
  Air air_;
  std::unique_ptr<Scenario> scenario_;
};

}  // namespace iqd::sim
