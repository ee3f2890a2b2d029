// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/futex.hpp"

namespace iqd::hosts {

/// Like Bell, for a thread that also looks at the clock.
class Alarm {
 public:
  std::uint32_t listen() const noexcept { return rings_.load(); }
  void ring() noexcept {
    rings_.fetch_add(1);
    futex_wake(rings_);
  }
  void wait(std::uint32_t heard, std::int64_t most_ns) const noexcept { futex_wait(rings_, heard, most_ns); }

 private:
  FutexWord rings_{0};
};

}  // namespace iqd::hosts
