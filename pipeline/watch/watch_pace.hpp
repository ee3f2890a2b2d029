// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace iqd {

/// Decides when a watched port is copied: so many times a second on average, and a few at once after a pause, so that
/// messages that arrive unevenly all count. One thread.
class WatchPace {
 public:
  explicit WatchPace(double per_second) noexcept : per_ns_(per_second / 1e9) {}

  bool is_due(std::int64_t now_ns) noexcept {
    left_ = std::min(kBurst, left_ + static_cast<double>(now_ns - last_ns_) * per_ns_);
    last_ns_ = now_ns;
    return left_ >= 1;
  }
  void took() noexcept { left_ = std::max(0.0, left_ - 1); }

 private:
  static constexpr double kBurst = 4;
  double per_ns_;
  double left_ = 1;
  std::int64_t last_ns_ = 0;
};

}  // namespace iqd
