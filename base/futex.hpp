// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace iqd {

using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == 4 && FutexWord::is_always_lock_free);

/// Sleeps while the word has this value, for `most_ns` at most; may return earlier. Works between processes that share
/// the memory.
inline void futex_wait(const FutexWord& word, std::uint32_t value, std::int64_t most_ns) noexcept {
  const timespec most{static_cast<std::time_t>(most_ns / 1'000'000'000), static_cast<long>(most_ns % 1'000'000'000)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &most, nullptr, 0);
}
/// Wakes all that sleep.
inline void futex_wake(const FutexWord& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace iqd
