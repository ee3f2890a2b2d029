// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/element.hpp"
#include "daemon/live/trace.hpp"

namespace iqd::live {

/// One channel of an array, relative to the first.
struct ChannelPhase {
  double rms = 0;  // of full scale
  double phase_deg = 0;
  double coherence = 0;  // magnitude of the correlation coefficient
};
/// NaN where one of them is silent.
ChannelPhase compare_channels(std::span<const cf32> first, std::span<const cf32> other) noexcept;

/// Levels and phases of the channels of a port of samples.
class ArrayTrace final : public Trace {
 public:
  explicit ArrayTrace(const WatchedPort& port);
  void show(const WatchCopy& copy, LiveHub& hub) override;

 private:
  std::int64_t due_ns_ = 0;
  std::vector<cf32> first_, other_;
};

}  // namespace iqd::live
