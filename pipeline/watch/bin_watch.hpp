// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/watch/watch_outlet.hpp"

namespace iqd {

/// Keeps the largest value of each bin since the previous copy, as f32: of real bins the value, of complex ones the
/// power. NaN gives way to any number. Of a message with many frames, the last ones count.
class BinWatch final : public WatchOutlet {
 public:
  /// Frames of a message that count.
  static constexpr std::int64_t kMostFrames = 8;
  /// Bins of a message that count, in all traces; one frame always does.
  static constexpr std::int64_t kMostBins = 1 << 18;

  BinWatch(const PortFormat& format, std::vector<std::size_t> picked, double per_second);
  std::int64_t bins() const noexcept { return bins_; }

 private:
  bool copy(const Message& message, WatchCopy& into) noexcept override;

  const std::int64_t bins_;
};

}  // namespace iqd
