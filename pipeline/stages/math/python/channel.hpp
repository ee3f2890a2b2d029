// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/futex.hpp"

/// The memory that the daemon shares with a process of the stage; python/iqd/_worker_channel.py is the other side.
/// There are two files. The daemon writes requests, which the process can only read:
///
///     0        Request
///     4096     the setup, JSON: shapes and parameters
///     69632    input arrays, each at a page
///
/// and the process answers:
///
///     0        Answer
///     4096     the results
///
/// The daemon writes a request, and last its word, a number that differs from the one before; the answer is complete
/// when its word is the same. Nothing that the process writes is trusted.
namespace iqd::python {

inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kSetupAt = kPage;
inline constexpr std::size_t kMostSetup = 64 * 1024;
inline constexpr std::size_t kInputsAt = kSetupAt + kMostSetup;
inline constexpr std::size_t kResultsAt = kPage;
inline constexpr std::size_t kMostInputs = 2;

struct Request {
  FutexWord word{0};
  std::uint32_t setup = 0;  // the number of the setup; 0: none yet
  std::int64_t setup_bytes = 0;
  std::int64_t length[kMostInputs] = {};  // of the varying dimension; -1: the array has none
  std::int64_t offset[kMostInputs] = {};
  std::int64_t past = 0;
  std::int64_t future = 0;
  std::int64_t fresh_positions = 0;
  std::int64_t valid_past = 0;
  std::int64_t valid_future = 0;
  std::int64_t position = 0;
  std::int64_t sample = 0;
  std::int64_t time_ns = 0;
  std::int64_t gap = 0;
  std::int64_t dropped = 0;
  std::int64_t block = 0;
  std::int64_t tuned = -1;
  std::int64_t fresh = 0;
  std::int64_t most = 0;  // positions or items of the result: how many, or at most
  double retuned_hz = 0;
};
static_assert(sizeof(Request) == 168 && offsetof(Request, length) == 16 && offsetof(Request, retuned_hz) == 160);

enum class Status : std::uint32_t { good, raised, unfit };

struct Answer {
  FutexWord word{0};
  std::uint32_t status = 0;
  std::int64_t count = 0;
};
static_assert(sizeof(Answer) == 16 && offsetof(Answer, count) == 8);

}  // namespace iqd::python
