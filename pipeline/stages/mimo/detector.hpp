// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/alphabets.hpp"
#include "signal/formats/qam.hpp"

/// Ports and edge values that all MIMO detectors share, so that one can replace another:
///
/// y         [vector][rx]        cf32; in frames [frame][…][rx]
/// h         [group][rx][tx]     cf32; the vectors divide evenly over the groups, in order: one channel serves several
///                               consecutive vectors
/// noise     [1] or [group]      f32, variance of an antenna's complex noise
/// prior     [vector][tx][bit]   f32, LLRs that are known before; left out: 0
/// modulation  [frame][tx]       u8, bits of each antenna's points, 0: it is silent; with `modulation: port`
/// llr       [vector][tx][bit]   f32, f16 or i8, positive for bit 0; i8 in units of `llr_scale`, at most 127
/// bits      [vector][tx][bit]   u8
/// distance  [vector]            f32, |y - H s|^2 of the best s found; with a prior plus noise times its cost of s
/// events    [event]             i64: vectors, erased
///
/// A vector is erased if any part of its y, h or noise is not finite, if its noise is below 0 or if its h is 0: LLRs
/// and bits are 0, the distance is NaN. LLRs are finite: noise of 0 counts as the smallest normal number.
///
/// A bit that contradicts its prior costs |prior| more, at most kMostPrior; NaN counts as 0. `bits` are the signs of
/// LLRs with the prior. `llr` is without it, so that a decoder learns only what is new, unless `extrinsic` is off.
namespace iqd::mimo {

enum class LlrForm : std::uint8_t { f32, f16, i8 };
inline std::span<const std::string_view> enum_names(LlrForm) {
  static constexpr std::string_view names[] = {"f32", "f16", "i8"};
  return names;
}

enum DetectorEvent : std::size_t { kVectors, kErased };
inline constexpr std::string_view kDetectorEvents[] = {"vectors", "erased"};
enum DetectorPort : std::size_t { kLlr, kBits, kDistance, kEvents };

inline constexpr int kMostAntennas = 8;
/// More would decide a bit alone.
inline constexpr float kMostPrior = 20;
IQD_HOST_DEVICE inline float usable_prior(float x) noexcept {
  return x > kMostPrior ? kMostPrior : x < -kMostPrior ? -kMostPrior : x == x ? x : 0.0f;
}

/// Noise counts up to this where a prior's cost is multiplied by it, so that costs stay finite.
inline constexpr float kMostPriorNoise = 1e30f;

struct DetectorKeys {
  std::vector<std::string> modulation = {"qpsk"};  // of all antennas, of each, or `port`
  std::string max_modulation;
  LlrForm llr = LlrForm::f32;
  double llr_scale = 0.25;
  bool extrinsic = true;

  void fields(FieldVisitor& v) {
    v.field("modulation", modulation,
            {.help = "of all transmit antennas or, as a list, of each: qpsk, 16qam, 64qam, 256qam, mapped as in TS "
                     "38.211, or silent; port: the input `modulation` has them",
             .live = true});
    v.field(
        "max_modulation", max_modulation,
        {.help = "largest modulation that may come; its bits are the LLRs of a point. Empty: that of `modulation`"});
    v.field("llr", llr, {.help = "element type of LLRs; i8 saturates at 127, its header has llr_scale"});
    v.field("llr_scale", llr_scale, {.help = "LLR per unit of i8", .low = 1e-3, .high = 1e3});
    v.field("extrinsic", extrinsic, {.help = "with a prior: LLRs without it, which a decoder can add up"});
  }
};

/// What a detector is built for. An item is a single vector or a frame of vectors.
struct DetectorShape {
  int rx = 0;
  int tx = 0;
  int bits = 0;          // per symbol, of the largest alphabet
  bool mixed = false;    // antennas may have smaller alphabets:
  bool by_port = false;  // those of the job
  Alphabets sent{};      // or these
  LlrForm form = LlrForm::f32;
  float llr_scale = 1;
  bool prior = false;  // there is one
  bool extrinsic = true;
  std::int64_t vectors = 1;  // per item of y
  std::int64_t groups = 1;   // per item of h
  std::int64_t noises = 1;   // per item of noise
  std::int64_t most = 1;     // most vectors in a block

  IQD_HOST_DEVICE int llrs() const noexcept { return tx * bits; }
};

/// One block in memory. Null pointers: the output is left out. Counts are in items and read when the job runs.
struct DetectorJob {
  const cf32* y;
  const cf32* h;
  const float* noise;
  const float* prior;        // null: none
  const std::uint8_t* sent;  // [item][tx]: bits of a point; with `by_port`
  void* llr;
  std::uint8_t* hard;
  float* distance;
  std::int64_t* events;
  const std::int32_t* items_of_y;
  const std::int32_t* items_of_h;
  const std::int32_t* items_of_noise;
  const std::int32_t* items_of_prior;
  const std::int32_t* items_of_sent;
  std::int32_t* counts[4];  // of the outputs, by DetectorPort
};

inline DetectorJob job_of(const StageIo& io) noexcept {
  DetectorJob job{.y = reinterpret_cast<const cf32*>(io.in[0].data),
                  .h = reinterpret_cast<const cf32*>(io.in[1].data),
                  .noise = reinterpret_cast<const float*>(io.in[2].data),
                  .prior = reinterpret_cast<const float*>(io.in[3].data),
                  .sent = reinterpret_cast<const std::uint8_t*>(io.in[4].data),
                  .llr = io.out[kLlr].data,
                  .hard = reinterpret_cast<std::uint8_t*>(io.out[kBits].data),
                  .distance = reinterpret_cast<float*>(io.out[kDistance].data),
                  .events = reinterpret_cast<std::int64_t*>(io.out[kEvents].data),
                  .items_of_y = io.in[0].count,
                  .items_of_h = io.in[1].count,
                  .items_of_noise = io.in[2].count,
                  .items_of_prior = io.in[3].count,
                  .items_of_sent = io.in[4].count,
                  .counts = {}};
  for (std::size_t o = 0; o < 4; ++o) job.counts[o] = io.out[o].count;
  return job;
}

/// Number of vectors, and how many consecutive ones share a channel and a noise value. Zero vectors if they do not
/// divide evenly, without channels or noise values, or if a prior or alphabets do not belong to them.
struct Batch {
  std::int64_t vectors = 0;
  std::int64_t of_channel = 1;
  std::int64_t of_noise = 1;
};
IQD_HOST_DEVICE inline Batch batch_of(const DetectorShape& shape, const DetectorJob& job) noexcept {
  const std::int64_t vectors = *job.items_of_y * shape.vectors;
  const std::int64_t channels = *job.items_of_h * shape.groups;
  const std::int64_t noises = *job.items_of_noise * shape.noises;
  if (shape.prior && *job.items_of_prior != *job.items_of_y) return {};
  if (shape.by_port && (*job.items_of_sent != *job.items_of_y || *job.items_of_h != *job.items_of_y)) return {};
  if (channels < 1 || noises < 1 || vectors % channels != 0 || vectors % noises != 0) return {};
  return {vectors, vectors / channels, vectors / noises};
}

/// The alphabets of an item, a frame of vectors.
IQD_HOST_DEVICE inline Alphabets alphabets_of(const DetectorShape& shape, const DetectorJob& job,
                                              std::int64_t item) noexcept {
  return shape.sent.with(shape.by_port ? job.sent + item * shape.tx : nullptr, shape.tx);
}

}  // namespace iqd::mimo
