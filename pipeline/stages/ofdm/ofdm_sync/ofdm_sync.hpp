// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/grid.hpp"
#include "signal/filters/fft_plan.hpp"
#include "signal/formats/ofdm_format.hpp"

/// Finds OFDM frames in what several antennas receive, and cuts them out with the frequency offset taken away.
///
///   c_r(g) = sum over m of x_r*(g+m) x_r(g+m+L) / mean energy of the two stretches       L = fft/2
///   M(g)   = |sum over r of |c_r|^2 c_r| / sum over r of |c_r|^2                          g: multiples of L/16
///
/// A g with M(g) >= threshold, the largest within L (the first of equal ones), may be a frame. Its training symbols
/// say whether it is, and the rest: Q(i), the likeness of the phases between neighbouring carriers to those sent, where
/// all carriers are moved by 2 i, has to reach the threshold too, and is to be the largest within half a frame; the
/// frame starts with the first path of the channel's power profile; offset: angle of the c_r, and 2 i carriers.
///
/// x          cf32 or sc16 [antenna][n + halo]
/// frames     cf32 [frame][antenna][sample]: x(start + m) exp(-2 pi j offset_hz m / rate)
/// start      i64 [frame]
/// offset_hz  f32 [frame]
/// metric     f32 [frame]: M
/// events     i64 [event]: found, cut, not_finite, crowded
///
/// A frame belongs to the block in whose new part it starts. One that starts before the first sample of all, or whose
/// end does not exist, is `cut`; one that holds something not finite, or has an energy outside 1e-30 … 1e30, is
/// `not_finite`; what is more than there is room for is `crowded`. An antenna whose c_r is not finite, or that has no
/// energy, does not count there. Keeps nothing between calls; the same bits however a stream is cut.
namespace iqd::ofdm_sync {

struct Config {
  double threshold = 0.3;
  std::optional<double> max_offset;  // Hz; 4 carriers without
  OfdmFormat format;

  void fields(FieldVisitor& visitor);
};

inline constexpr std::int64_t kMostAntennas = 64;

inline constexpr std::array<std::string_view, 4> kEvents{"found", "cut", "not_finite", "crowded"};
enum Event : std::uint8_t { kFound, kCut, kNotFinite, kCrowded };

/// The energies that a frame may have.
inline constexpr float kLeastEnergy = 1e-30f;
inline constexpr float kMostEnergy = 1e30f;

/// What is searched for, and the symbols that are known.
struct Pattern {
  Pattern(const Config& config, double rate_hz, std::int64_t antennas);

  Grid grid;
  std::vector<float> pairs;     // [bin]: the product of the signs of this carrier and the next; 0 where one is not sent
  std::vector<float> training;  // [bin]: the sign, tapered towards the edges so that paths stand out
};

/// Where results go. Positions count from the first sample that exists.
struct Output {
  cf32* frames;
  std::int64_t* start;
  float* offset_hz;
  float* metric;
  std::int64_t most;
  std::array<std::int64_t, kEvents.size()> events{};
};

std::size_t scratch_bytes(const Pattern& pattern, std::int64_t most_new);

/// The search on the processor, with the transforms that it needs.
class Search {
 public:
  Search(Pattern pattern, std::int64_t most_new);
  /// x: all samples that exist, `past` and `future` around the new ones as far as they do; `lead`: the first of them
  /// whose absolute position is a multiple of the grid's step. Sample: cf32 or sc16.
  template <class Sample>
  void run(View<const Sample, 2> x, Range fresh, std::int64_t lead, std::byte* scratch, Output& out) const noexcept;

 private:
  Pattern pattern_;
  std::int64_t most_new_;
  FftPlan forward_;
  FftPlan inverse_;
};

/// The stage's outputs, in order.
enum Port : std::uint8_t { kFrames, kStart, kOffset, kMetric, kTally };

/// Which of a block's samples count, from its first: what was asked for, though neighbours may have asked for more.
inline Range seen_of(const Grid& grid, const StageIo& io) noexcept {
  const PortIo& in = io.in[0];
  return {std::max<std::int64_t>(0, io.first_new - grid.past() - in.first),
          std::min(in.length, io.end_new + grid.future() - in.first)};
}

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Pattern& pattern, std::int64_t most_new, Element element);

}  // namespace iqd::ofdm_sync
