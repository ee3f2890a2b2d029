// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "radio/soapy-modules/sim/device/stream.hpp"

namespace iqd::sim {

/// The analog part of the receivers: amplifies and mixes samples with the gain and the frequency in force at each of
/// them. Tuned to 100 MHz, a scenario is at its own frequencies. Any thread may set it while another receives.
class FrontEnd {
 public:
  explicit FrontEnd(std::size_t channels) : settings_(channels) {}
  /// These apply to the samples of a channel from position `from` on.
  void set(std::size_t channel, std::int64_t from, double gain_db, double frequency_hz);
  /// Changes the samples at positions rx.next, rx.next + 1, … of the stream's channels, in its format.
  void receive(const Stream& rx, double rate_hz, void* const* buffers, std::int64_t samples);

 private:
  struct Setting {
    std::int64_t from;  // position
    double gain_db;
    double frequency_hz;
  };
  std::mutex mutex_;
  std::vector<std::vector<Setting>> settings_;  // of each receive channel, by position
};

}  // namespace iqd::sim
