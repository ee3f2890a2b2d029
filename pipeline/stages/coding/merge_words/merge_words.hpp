// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/coding/retry.hpp"

/// Puts the words of a second pass over failed_frames in the place of those that failed in the first.
///
/// bits          [frame][word][k]  u8, of the first pass; out: those that were good, and the others of the second
/// failed        [frame][word]     u8, of the first pass; out: after both
/// again         [retry][word][k]  u8, of the second pass: the frames with a word that failed, in order
/// failed_again  [retry][word]     u8, of the second pass
/// iterations    [frame][word]     i32, of the first pass; may be left out. A word without any is not there
/// events        [event]           i64: words, mended, failed
///
/// Without the second pass of a frame the first counts. Keeps nothing between calls.
namespace iqd::merge_words {

enum Event : std::size_t { kWords, kMended, kFailed };
inline constexpr std::string_view kEvents[] = {"words", "mended", "failed"};
enum Input : std::size_t { kFirst, kFailedFirst, kAgain, kFailedAgain, kIterations };
enum Port : std::size_t { kBits, kFailedWords, kTally };

struct Setup {
  std::int64_t words = 1;  // of a frame
  std::int64_t k = 1;      // bits of a word
  bool counts = false;     // by their iterations
};

struct Job {
  coding::FailedWords failed;
  const std::uint8_t *first, *again, *failed_again;
  const std::int32_t* iterations;  // or null
  std::uint8_t *bits, *failed_after;
  const std::int32_t* items[5];  // the last: null, if it is not connected
  std::int32_t* counts[3];
  std::int64_t* events;

  /// None if the inputs of the first pass do not have the same frames.
  IQD_HOST_DEVICE std::int64_t frames() const noexcept {
    if (iterations && *items[kIterations] != *items[kFirst]) return 0;
    return *items[kFirst] == *items[kFailedFirst] ? *items[kFirst] : 0;
  }
  IQD_HOST_DEVICE bool is_there(std::int64_t word) const noexcept { return !iterations || iterations[word] != 0; }
  IQD_HOST_DEVICE std::int64_t retries() const noexcept {
    return *items[kAgain] < *items[kFailedAgain] ? *items[kAgain] : *items[kFailedAgain];
  }
  IQD_HOST_DEVICE void put_counts(std::int64_t frames, std::int64_t words, std::int64_t before,
                                  std::int64_t after) const noexcept {
    *counts[kBits] = *counts[kFailedWords] = static_cast<std::int32_t>(frames);
    *counts[kTally] = 1;
    events[kWords] = words;
    events[kMended] = before - after;
    events[kFailed] = after;
  }
};
inline Job job_of(const Setup& setup, const StageIo& io) noexcept {
  Job job{.failed = {io.in[kFailedFirst].row<const std::uint8_t>(), setup.words},
          .first = io.in[kFirst].row<const std::uint8_t>(),
          .again = io.in[kAgain].row<const std::uint8_t>(),
          .failed_again = io.in[kFailedAgain].row<const std::uint8_t>(),
          .iterations = setup.counts ? io.in[kIterations].row<const std::int32_t>() : nullptr,
          .bits = io.out[kBits].row<std::uint8_t>(),
          .failed_after = io.out[kFailedWords].row<std::uint8_t>(),
          .items = {},
          .counts = {},
          .events = io.out[kTally].row<std::int64_t>()};
  for (std::size_t i = 0; i < (setup.counts ? 5 : 4); ++i) job.items[i] = io.in[i].count;
  for (std::size_t o = 0; o < 3; ++o) job.counts[o] = io.out[o].count;
  return job;
}

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Setup& setup);

}  // namespace iqd::merge_words
