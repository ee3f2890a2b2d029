// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/coding/retry.hpp"

/// Takes the frames out of a block in which a word failed, with what a second pass over them needs.
///
/// failed     [frame][word]  u8, from ldpc_decoder
/// carriers   [frame][…]     cf32; out: [retry][…], the frames with a word that failed, in order
/// posterior  [frame][…]     f32, likewise
/// extrinsic  [frame][…]     f32, likewise
/// events     [event]        i64: frames, failed
///
/// Keeps nothing between calls.
namespace iqd::failed_frames {

enum Event : std::size_t { kFrames, kFailed };
inline constexpr std::string_view kEvents[] = {"frames", "failed"};
inline constexpr std::size_t kCopies = 3;
enum Port : std::size_t { kTally = kCopies };

struct Setup {
  std::int64_t words = 1;          // of a frame
  std::int64_t floats[kCopies]{};  // of a frame of each input behind `failed`
};

struct Job {
  coding::FailedWords failed;
  const std::int32_t* items[1 + kCopies];
  const float* from[kCopies];
  float* to[kCopies];  // null: left out
  std::int32_t* counts[kCopies + 1];
  std::int64_t* events;

  /// None if the inputs do not have the same frames.
  IQD_HOST_DEVICE std::int64_t frames() const noexcept {
    for (const std::int32_t* const other : items)
      if (*other != *items[0]) return 0;
    return *items[0];
  }
  IQD_HOST_DEVICE void put_counts(std::int64_t frames, std::int64_t kept) const noexcept {
    for (std::size_t o = 0; o < kCopies; ++o) *counts[o] = static_cast<std::int32_t>(kept);
    *counts[kTally] = 1;
    events[kFrames] = frames;
    events[kFailed] = kept;
  }
};
inline Job job_of(const Setup& setup, const StageIo& io) noexcept {
  Job job{.failed = {io.in[0].row<const std::uint8_t>(), setup.words},
          .items = {io.in[0].count},
          .from = {},
          .to = {},
          .counts = {},
          .events = io.out[kTally].row<std::int64_t>()};
  for (std::size_t o = 0; o < kCopies; ++o) {
    job.items[1 + o] = io.in[1 + o].count;
    job.from[o] = reinterpret_cast<const float*>(io.in[1 + o].data);
    job.to[o] = reinterpret_cast<float*>(io.out[o].data);
  }
  for (std::size_t o = 0; o <= kCopies; ++o) job.counts[o] = io.out[o].count;
  return job;
}

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Setup& setup);

}  // namespace iqd::failed_frames
