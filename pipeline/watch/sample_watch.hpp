// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/watch/watch_outlet.hpp"

namespace iqd {

/// Copies the last samples of a block of complex samples, [n] or [channel][n]: as many as `size` says, for a transform.
/// A message may lack one in 64 of them, which are zeros then; a shorter one is not shown. The rows of a payload may be
/// apart.
class SampleWatch final : public WatchOutlet {
 public:
  /// Largest transform.
  static constexpr std::int64_t kMost = 4096;

  SampleWatch(const PortFormat& format, std::vector<std::size_t> picked, double per_second);
  std::int64_t size() const noexcept { return size_; }

 private:
  bool copy(const Message& message, WatchCopy& into) noexcept override;

  const std::int64_t size_;
  const std::int64_t rows_;
};

}  // namespace iqd
