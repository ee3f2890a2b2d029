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

/// How strong one channel of a source is: gauges of the last second, in dB of full scale, which a tone of amplitude 1
/// has (NaN: none yet; of nothing but zeros minus infinity), and counts since the start.
struct ChannelLevel {
  Gauge rms_dbfs;
  Gauge peak_dbfs;    // of the largest real or imaginary part
  Counter clipped;    // samples
  Counter overloads;  // episodes
  std::atomic<bool> overloaded{false};
};

/// Measures every sample that a source gives, in the radio thread: an instruction a sample (AVX2); where all are
/// clipped two of sc16 and five of cf32. More than one clipped sample in 10,000 of a second is an overload; it lasts
/// until ten seconds have passed without, and is a line in the log when it begins and one when it ends.
class LevelMeter {
 public:
  static constexpr double kOverloadShare = 1e-4;
  static constexpr int kQuietSeconds = 10;

  /// `shown` becomes one for each channel of the stream; none where its elements are no complex samples.
  LevelMeter(std::string name, const StreamInfo& info, std::vector<ChannelLevel>& shown);
  /// `samples` of channel c are at `from[c]`.
  void look(std::span<std::byte* const> from, std::int64_t samples);
  /// The stream ends: shows what was measured of a second that is not over.
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
  double full_scale_;  // of a part; 0: there is none
  bool is_radio_;
  std::int64_t second_;  // samples
  std::vector<Channel> channels_;
  std::vector<ChannelLevel>& shown_;
};

}  // namespace iqd
