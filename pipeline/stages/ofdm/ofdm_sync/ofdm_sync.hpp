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

/// Finds OFDM frames in the signals of several antennas, and cuts them out with the frequency offset removed.
///
///   c_r(g) = sum over m of x_r*(g+m) x_r(g+m+L) / mean energy of the two stretches       L = fft/2
///   M(g)   = |sum over r of |c_r|^2 c_r| / sum over r of |c_r|^2                          g: multiples of L/16
///
/// A g with M(g) >= threshold, the largest within L (the first of equal ones), is a candidate. Its training symbols
/// decide. Q(i) is the similarity of the phase differences between neighbouring carriers to those sent, with all
/// carriers moved by 2 i. It must reach the threshold too, and be the largest within half a frame. The frame starts
/// with the first path of the channel's power profile; the offset is the angle of the c_r, and 2 i carriers.
///
/// x          cf32 or sc16 [antenna][n + halo]
/// With `reject_tones`, c_r is without what the halves at other grid points, to half a frame on both sides, have in
/// common (tones.hpp); so are the prefixes, and carriers that only a tone can make so strong are reduced.
///
/// frames     cf32 [frame][antenna][sample]: x(start + m) exp(-2 pi j offset_hz m / rate); with `tail` as far as the
///            training of the next frame ends, 0 where the stream has no more samples
/// start      i64 [frame]
/// offset_hz  f32 [frame]
/// metric     f32 [frame]: M
/// events     i64 [event]: found, cut, not_finite, crowded
///
/// A frame belongs to the block whose new samples contain its start. It is `cut` if it starts before the stream's first
/// sample or its end does not exist; `not_finite` if it holds a NaN or an infinity, or its energy is outside 1e-30 …
/// 1e30; `crowded` if there is no room for it. An antenna whose c_r is not finite, or that has no energy, does not
/// count there. Nothing is kept between calls; the result is the same bits however the stream is cut.
namespace iqd::ofdm_sync {

struct Config {
  double threshold = 0.3;
  std::optional<double> max_offset;  // Hz; none: 4 carriers
  bool reject_tones = false;
  OfdmFormat format;

  void fields(FieldVisitor& visitor);
};

inline constexpr std::int64_t kMostAntennas = 64;

inline constexpr std::array<std::string_view, 4> kEvents{"found", "cut", "not_finite", "crowded"};
enum Event : std::uint8_t { kFound, kCut, kNotFinite, kCrowded };

/// Limits of a frame's energy.
inline constexpr float kLeastEnergy = 1e-30f;
inline constexpr float kMostEnergy = 1e30f;

/// What the search looks for, and the known symbols.
struct Pattern {
  Pattern(const Config& config, double rate_hz, std::int64_t antennas);

  Grid grid;
  std::vector<float> pairs;     // [bin]: product of the signs of this carrier and the next; 0 if one is not sent
  std::vector<float> training;  // [bin]: the sign, tapered towards the edges to reduce side lobes of paths
};

/// Where results are written. Positions count from the first sample that exists.
struct Output {
  cf32* frames;
  std::int64_t* start;
  float* offset_hz;
  float* metric;
  std::int64_t most;
  std::array<std::int64_t, kEvents.size()> events{};
};

std::size_t scratch_bytes(const Pattern& pattern, std::int64_t most_new);

/// The search on the CPU, with its transforms.
class Search {
 public:
  Search(Pattern pattern, std::int64_t most_new);
  /// x: all samples that exist, with up to `past` and `future` around the new ones; `lead`: the first of them whose
  /// absolute position is a multiple of the grid's step. Sample: cf32 or sc16.
  template <class Sample>
  void run(View<const Sample, 2> x, Positions fresh, std::int64_t lead, std::byte* scratch, Output& out) const noexcept;

 private:
  Pattern pattern_;
  std::int64_t most_new_;
  FftPlan forward_;
  FftPlan inverse_;
};

/// The stage's outputs, in order.
enum Port : std::uint8_t { kFrames, kStart, kOffset, kMetric, kTally };

/// The range of a block's samples that this stage asked for; its neighbours may have asked for more.
inline Positions seen_of(const Grid& grid, const StageIo& io) noexcept {
  const PortIo& in = io.in[0];
  return {std::max<std::int64_t>(0, io.first_new - grid.past() - in.first),
          std::min(in.length, io.end_new + grid.future() - in.first)};
}

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Pattern& pattern, std::int64_t most_new, Element element);

}  // namespace iqd::ofdm_sync
