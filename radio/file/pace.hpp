// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace iqd::radio {

/// How many samples are due if they are played at their rate, from the first call on. All times are of the steady
/// clock, which the caller reads. One thread.
class Pace {
 public:
  explicit Pace(double rate_hz) noexcept : rate_hz_(rate_hz) {}

  /// Of the wanted samples.
  std::int64_t due(std::int64_t wanted, std::int64_t now_ns) noexcept {
    if (start_ns_ < 0) start_ns_ = now_ns;
    const auto all = static_cast<std::int64_t>(static_cast<double>(now_ns - start_ns_) * 1e-9 * rate_hz_);
    return std::clamp(all - given_, std::int64_t{0}, wanted);
  }
  /// How long until so many samples are due; negative if they are already. Call `due` before.
  double ns_until(std::int64_t samples, std::int64_t now_ns) const noexcept {
    const double seconds = static_cast<double>(given_ + samples) / rate_hz_;
    return seconds * 1e9 - static_cast<double>(now_ns - start_ns_);
  }
  void gave(std::int64_t samples) noexcept { given_ += samples; }

 private:
  double rate_hz_;
  std::int64_t given_ = 0;
  std::int64_t start_ns_ = -1;  // when the first sample was due
};

}  // namespace iqd::radio
