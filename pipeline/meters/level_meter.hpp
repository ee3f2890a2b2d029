// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "base/metric.hpp"
#include "signal/filters/sample_level.hpp"

namespace iqd {

/// The level of one source channel: gauges of the last second, in dB of full scale, which is a tone of amplitude 1
/// (NaN: none yet; minus infinity: only zeros), and counts since the start.
struct ChannelLevel {
  Gauge rms_dbfs;
  Gauge peak_dbfs;    // of the largest real or imaginary part
  Counter clipped;    // samples
  Counter overloads;  // episodes
  std::atomic<bool> overloaded{false};
};

/// Measures every sample of a source, in the radio thread: one instruction per sample (AVX2); if all are clipped, two
/// for sc16 and five for cf32. More than one clipped sample in 10,000 of a second is an overload. It ends after ten
/// seconds without one. Its begin and its end are logged.
class LevelMeter {
 public:
  static constexpr double kOverloadShare = 1e-4;
  static constexpr int kQuietSeconds = 10;

  /// `shown` gets one entry for each channel of the stream; none if its elements are not complex samples.
  LevelMeter(std::string name, const StreamInfo& info, std::vector<ChannelLevel>& shown);
  /// `samples` of channel c are at `from[c]`.
  void look(std::span<std::byte* const> from, std::int64_t samples);
  /// The stream ends: shows what was measured of the unfinished second.
  void finish();

 private:
  void show(std::size_t channel);
  void judge(std::size_t channel, double share);

  struct Channel {
    SampleLevel second;
    int quiet_seconds = 0;
  };
  std::string name_;
  Element element_;
  double full_scale_;  // of the real or imaginary part; 0: none
  bool is_radio_;
  std::int64_t second_;  // samples
  std::vector<Channel> channels_;
  std::vector<ChannelLevel>& shown_;
};

}  // namespace iqd
