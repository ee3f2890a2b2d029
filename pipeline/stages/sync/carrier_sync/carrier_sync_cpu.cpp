// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "pipeline/stages/sync/carrier_sync/carrier_sync.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::carrier_sync {
namespace {

cf32 phasor(double turns) noexcept {
  const double angle = 2 * std::numbers::pi * Search::wrapped(turns);
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}
Complex parts_of(cf32 x) noexcept {
  return {x.real(), x.imag()};
}
const Complex* parts_of(const cf32* x) noexcept {
  return reinterpret_cast<const Complex*>(x);
}

/// Sums of the hops that were measured last. A window and its neighbours consist of four consecutive hops.
struct Room {
  static constexpr std::int64_t kRows = 4;
  const Search& search;
  Scratch scratch;
  cf32* sums = scratch.take<cf32>(kRows * search.bins());
  double* weights = scratch.take<double>(kRows);
  std::int64_t* hops = scratch.take<std::int64_t>(kRows);  // the hop of each row
};

/// y = x exp(-j 2 pi (phase + i slope)) for i = begin … end-1 of a hop. Each sample's factor depends only on its place.
void turn(const cf32* x, double phase, double slope, std::int64_t begin, std::int64_t end, cf32* y) noexcept {
  cf32 fine[kRun];
  for (std::int64_t i = 0; i < kRun; ++i) fine[i] = phasor(-slope * static_cast<double>(i));
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t run = i - i % kRun, stop = std::min(run + kRun, end);
    const Complex coarse = parts_of(phasor(-phase - slope * static_cast<double>(run)));
    for (; i < stop; ++i) {
      const Complex turned = product(parts_of(*x++), product(coarse, parts_of(fine[i - run])));
      *y++ = {turned.re, turned.im};
    }
  }
}

}  // namespace

Synchronizer::Synchronizer(const Config& config)
    : search_(config.modulation, config.samples_per_symbol, config.window, config.max_offset) {
  for (std::int64_t i = 0; i < search_.hop && config.samples_per_symbol >= 3; ++i)
    line_.push_back(phasor(-static_cast<double>(i) / config.samples_per_symbol));
  for (std::int64_t part = 0; part < search_.parts; ++part)
    for (int bin = 0; bin < search_.bins(); ++bin) {
      const double middle = static_cast<double>(part * search_.part) + static_cast<double>(search_.part - 1) / 2;
      bins_.push_back(phasor(-(bin - search_.reach_bins) * middle / static_cast<double>(4 * search_.hop)));
    }
}

std::size_t Synchronizer::scratch_bytes() const noexcept {
  return Room{search_, Scratch(nullptr)}.scratch.bytes();
}

/// The direction of the line of |x|^2 at the symbol rate; 0 if there is none.
cf32 Synchronizer::timing(const Input& in, std::int64_t begin, std::int64_t end, std::int64_t place) const noexcept {
  double re = 0, im = 0, energy = 0;
  for (std::int64_t n = begin; n < end && !line_.empty(); ++n) {
    const auto power = static_cast<double>(power_of(parts_of(in.x[n - in.first])));
    const cf32 line = line_[static_cast<std::size_t>(n - place)];
    re += power * static_cast<double>(line.real());
    im += power * static_cast<double>(line.imag());
    energy += power;
  }
  const double length = std::sqrt(re * re + im * im);
  if (!(length > kFaintest * energy)) return 0;
  return {static_cast<float>(re / length), static_cast<float>(im / length)};
}

/// Computes all bins of a hop, and the sum of its samples' weights.
void Synchronizer::measure(const Input& in, std::int64_t hop, cf32* sums, double& weight) const noexcept {
  const std::int64_t place = hop * search_.hop;
  const std::int64_t begin = std::max(place, in.first), end = std::min(place + search_.hop, in.end);
  const Complex direction = parts_of(timing(in, begin, end, place));
  const int bins = search_.bins();
  std::fill_n(sums, bins, cf32(0));
  weight = 0;
  for (std::int64_t part = 0; part < search_.parts; ++part) {
    double re = 0, im = 0;
    const std::int64_t first = place + part * search_.part;
    for (std::int64_t n = std::max(first, begin); n < std::min(first + search_.part, end); ++n) {
      const Complex x = parts_of(in.x[n - in.first]);
      const float power = power_of(x);
      const Complex v = without_symbol(x, power, search_.symmetry);
      const float counts =
          line_.empty() ? 1.0f : weight_of(parts_of(line_[static_cast<std::size_t>(n - place)]), direction);
      re += static_cast<double>(counts * v.re);
      im += static_cast<double>(counts * v.im);
      weight += static_cast<double>(counts * power);
    }
    const Complex sum{static_cast<float>(re), static_cast<float>(im)};
    const cf32* const row = bins_.data() + part * bins;
    for (int bin = 0; bin < bins; ++bin) {
      const Complex turned = product(sum, parts_of(row[bin]));
      sums[bin] += cf32(turned.re, turned.im);
    }
  }
}

Estimate Synchronizer::estimate(const Input& in, const dsp::Hops& hops, std::int64_t g,
                                std::byte* scratch) const noexcept {
  const Room room{search_, Scratch(scratch)};
  const std::int64_t source = hops.source(g);
  const auto row_of = [&](std::int64_t hop) {
    const std::int64_t row = hop & (Room::kRows - 1);
    if (room.hops[row] != hop) measure(in, hop, room.sums + row * search_.bins(), room.weights[row]);
    room.hops[row] = hop;
    return row;
  };
  const std::int64_t before = row_of(source - 1), behind = row_of(source);
  const Estimate e =
      search_.estimate(parts_of(room.sums + before * search_.bins()), parts_of(room.sums + behind * search_.bins()),
                       room.weights[before] + room.weights[behind], hops.middle(source));
  return search_.later(e, static_cast<int>(g - source));
}

std::int64_t Synchronizer::run(const Input& in, const Output& out, std::int64_t& turns,
                               std::byte* scratch) const noexcept {
  const dsp::Hops hops(search_.hop, in.first, in.end, out.first, out.end);
  if (hops.last == hops.begin) return 0;
  std::fill_n(Room{search_, Scratch(scratch)}.hops, Room::kRows, std::numeric_limits<std::int64_t>::min());
  std::int64_t windows = 0, here = turns;
  Estimate now = estimate(in, hops, hops.begin, scratch);
  for (std::int64_t g = hops.begin; g < hops.last; ++g) {
    const Estimate next = estimate(in, hops, g + 1, scratch);
    const std::int64_t place = g * search_.hop;
    if (place >= out.first && place < out.end_new) {
      if (out.estimates) search_.write(now, here, out.estimates + windows * std::ssize(kValues));
      ++windows;
    }
    const std::int64_t begin = std::max(place, out.first), end = std::min(place + search_.hop, out.end);
    turn(in.x + (begin - in.first), search_.carrier(now, here), search_.slope(now, next), begin - place, end - place,
         out.y + (begin - out.first));
    here += search_.turns_between(now, next);
    if (floor_div(out.end_new, search_.hop) == g + 1) turns = here;
    now = next;
  }
  return windows;
}

}  // namespace iqd::carrier_sync
