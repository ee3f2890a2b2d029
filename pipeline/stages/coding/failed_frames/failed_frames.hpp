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
/// modulation [frame][tx]    u8, likewise, if it is connected
/// events     [event]        i64: frames, failed
///
/// Keeps nothing between calls.
namespace iqd::failed_frames {

enum Event : std::size_t { kFrames, kFailed };
inline constexpr std::string_view kEvents[] = {"frames", "failed"};
inline constexpr std::size_t kCopies = 3;
enum Port : std::size_t { kTally = kCopies, kModulation };
inline constexpr std::size_t kModulationIn = 1 + kCopies;

struct Setup {
  std::int64_t words = 1;          // of a frame
  std::int64_t floats[kCopies]{};  // of a frame of each input behind `failed`
  std::int64_t antennas = 0;       // whose modulation is copied
};

struct Job {
  coding::FailedWords failed;
  const std::int32_t* items[1 + kCopies + 1];  // null: not connected
  const float* from[kCopies];
  float* to[kCopies];  // null: left out
  const std::uint8_t* sent;
  std::uint8_t* sent_to;  // null: left out, or not connected
  std::int32_t* counts[kCopies + 2];
  std::int64_t* events;

  /// None if the inputs do not have the same frames.
  IQD_HOST_DEVICE std::int64_t frames() const noexcept {
    for (const std::int32_t* const other : items)
      if (other && *other != *items[0]) return 0;
    return *items[0];
  }
  IQD_HOST_DEVICE void put_counts(std::int64_t frames, std::int64_t kept) const noexcept {
    for (std::size_t o = 0; o < kCopies; ++o) *counts[o] = static_cast<std::int32_t>(kept);
    *counts[kModulation] = sent ? static_cast<std::int32_t>(kept) : 0;
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
          .sent = setup.antennas > 0 ? io.in[kModulationIn].row<const std::uint8_t>() : nullptr,
          .sent_to = setup.antennas > 0 ? io.out[kModulation].row<std::uint8_t>() : nullptr,
          .counts = {},
          .events = io.out[kTally].row<std::int64_t>()};
  for (std::size_t o = 0; o < kCopies; ++o) {
    job.items[1 + o] = io.in[1 + o].count;
    job.from[o] = reinterpret_cast<const float*>(io.in[1 + o].data);
    job.to[o] = reinterpret_cast<float*>(io.out[o].data);
  }
  if (setup.antennas > 0) job.items[kModulationIn] = io.in[kModulationIn].count;
  for (std::size_t o = 0; o < std::size(job.counts); ++o) job.counts[o] = io.out[o].count;
  return job;
}

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Setup& setup);

}  // namespace iqd::failed_frames
