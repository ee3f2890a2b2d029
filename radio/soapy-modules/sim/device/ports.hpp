// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Constants.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace iqd::sim {

/// The settings of one channel in one direction.
struct Port {
  std::string antenna;
  double gain_db = 0;
  double frequency_hz = 100e6;
  double bandwidth_hz = 0;
};

/// The channels of a device in both directions. One thread at a time.
class Ports {
 public:
  /// Each channel gets this antenna.
  void create(int direction, std::size_t count, const std::string& antenna) {
    ports_[direction == SOAPY_SDR_RX].assign(count, {.antenna = antenna});
  }
  std::size_t count(int direction) const noexcept { return ports_[direction == SOAPY_SDR_RX].size(); }
  /// Throws std::out_of_range.
  const Port& at(int direction, std::size_t channel) const {
    const auto& ports = ports_[direction == SOAPY_SDR_RX];
    if (channel >= ports.size())
      throw std::out_of_range("iqdsim: channel " + std::to_string(channel) + " of " + std::to_string(ports.size()));
    return ports[channel];
  }
  Port& at(int direction, std::size_t channel) {
    return const_cast<Port&>(static_cast<const Ports*>(this)->at(direction, channel));
  }

 private:
  std::vector<Port> ports_[2];
};

}  // namespace iqd::sim
