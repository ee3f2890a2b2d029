// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/integer.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/block_sums.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/training.hpp"
#include "signal/filters/interleave.hpp"
#include "signal/formats/phase.hpp"

namespace iqd::ofdm_sync {
namespace {

template <class Sample> class Block {
 public:
  Block(const Pattern& pattern, const FftPlan& forward, const FftPlan& inverse, View<const Sample, 2> x,
        Positions fresh, std::int64_t lead, const Room& room, Output& out)
      : g_(pattern.grid),
        forward_(forward),
        training_(pattern, inverse, room),
        x_(x),
        length_(x.extent(1)),
        fresh_(fresh),
        lead_(lead),
        places_(g_.places(length_, lead)),
        room_(room),
        out_(out) {
    for (std::int64_t r = 0; r < g_.antennas; ++r)
      sums_[static_cast<std::size_t>(r)] = {part(r, 0), part(r, 1), part(r, 2), part(r, 3), part(r, 4)};
  }

  void run() noexcept {
    fill_sums();
    if (g_.rejects_tones()) {
      fill_alikes();
      find_likeness_beside_tones(g_, alikes_.data(), places_, room_.likeness);
    } else {
      find_likeness(g_, sums_.data(), places_, room_.likeness);
    }
    const Positions asked = g_.asked(fresh_);
    const std::int64_t around = g_.half * g_.step;
    const Positions seen{asked.first - around, asked.end + around};
    std::int64_t count = 0;
    for (std::int64_t j = 0; j < places_; ++j)
      if (seen.has(at(j)) && may_be_frame(j) && confirm(j, room_.found[count])) ++count;
    for (std::int64_t f = 0; f < count; ++f)
      if (is_largest(f, count)) emit(room_.found[f]);
  }

 private:
  std::int64_t at(std::int64_t place) const noexcept { return lead_ + place * g_.step; }
  float* part(std::int64_t r, std::int64_t which) const noexcept {
    return room_.sums + (kSums * r + which) * room_.pitch;
  }

  /// Samples n … n + count - 1 of a row contiguously; zeros behind the last.
  void load(std::int64_t r, std::int64_t n, std::int64_t count) const noexcept {
    const std::int64_t there = std::clamp<std::int64_t>(length_ - n, 0, count);
    split(&x_(r, n), there, room_.re, room_.im);
    std::fill(room_.re + there, room_.re + count, 0.0f);
    std::fill(room_.im + there, room_.im + count, 0.0f);
  }

  void fill_sums() const noexcept {
    const std::int64_t all = std::max<std::int64_t>(0, length_ - lead_) / g_.step;
    const std::int64_t most = room_.tile / g_.step;
    for (std::int64_t r = 0; r < g_.antennas; ++r)
      for (std::int64_t b = 0; b < all; b += most) {
        const std::int64_t count = std::min(most, all - b);
        load(r, at(b), count * g_.step + g_.lag);
        sum_blocks(room_.re, room_.im, g_, count,
                   {part(r, 0) + b, part(r, 1) + b, part(r, 2) + b, part(r, 3) + b, part(r, 4) + b});
      }
  }

  /// A tone is measured at grid points before the first and behind the last, too: there is nothing.
  void fill_alikes() noexcept {
    const std::int64_t around = g_.others * g_.apart, count = g_.halves(length_, lead_);
    for (std::int64_t r = 0; r < g_.antennas; ++r) {
      float* to[kAlikes];
      for (std::int64_t which = 0; which < kAlikes; ++which) {
        float* const row = room_.alikes + (kAlikes * r + which) * room_.alikes_pitch;
        std::fill_n(row, around, 0.0f);
        to[which] = row + around;
      }
      compare_halves(g_, sums_[static_cast<std::size_t>(r)], count, to);
      for (float* const row : to) std::fill_n(row + count, around + kMargin, 0.0f);
      alikes_[static_cast<std::size_t>(r)] = {to[0], to[1], to[2], count};
    }
  }

  /// c and energy of one antenna.
  Alike halves_of(std::int64_t r, std::int64_t j) const noexcept {
    const auto antenna = static_cast<std::size_t>(r);
    return g_.rejects_tones() ? halves_beside_tones(g_, alikes_[antenna], j) : halves_at(g_, sums_[antenna], j);
  }

  bool may_be_frame(std::int64_t j) const noexcept {
    const float* const m = room_.likeness;
    if (!(m[j] >= g_.threshold) || !(m[j] > 0)) return false;
    const std::int64_t first = std::max<std::int64_t>(0, j - g_.nearby);
    const std::int64_t end = std::min(places_, j + g_.nearby + 1);
    return std::all_of(m + first, m + j, [&](float other) { return other < m[j]; }) &&
           std::all_of(m + j + 1, m + end, [&](float other) { return other <= m[j]; });
  }

  /// Evaluates the training symbols.
  bool confirm(std::int64_t j, Found& found) const noexcept {
    Combined halves;
    for (std::int64_t r = 0; r < g_.antennas; ++r) halves.add(halves_of(r, j).c);
    const double fraction = fraction_of(halves.sum);
    transform_training(j, fraction);
    const auto [i, fit] = training_.best_hypothesis();
    if (!g_.convinces(room_.likeness[j], fit)) return false;
    const std::int64_t start = g_.settled(at(j) - g_.prefix + training_.first_path(i));
    found = {j, start, fraction + 2 * static_cast<double>(i), fit, room_.likeness[j]};
    return true;
  }

  /// Removes the fraction of the offset, and brings all antennas to one level.
  void transform_training(std::int64_t j, double fraction) const noexcept {
    const Phasors phasors(Phase::of_turns(-fraction / static_cast<double>(g_.fft)), room_.phasors);
    cf32* const turns = room_.phasors + kRun;
    for (std::int64_t m = 0; m < g_.fft; m += kRun) phasors.run(m, turns + m);
    for (std::int64_t r = 0; r < g_.antennas; ++r) {
      const float energy = halves_of(r, j).energy;
      const float scale = energy > 0 ? 1 / std::sqrt(energy) : 0;
      for (std::int64_t t = 0; t < g_.tx; ++t) {
        const Sample* const x = &x_(r, g_.training_at(at(j), t));
        for (std::int64_t m = 0; m < g_.fft; ++m) room_.points[m] = dsp::product(scale * complex_of(x[m]), turns[m]);
        forward_.run(room_.points, training_.spectrum(r, t));
      }
    }
  }

  /// Within half a frame; of equal ones the first.
  bool is_largest(std::int64_t f, std::int64_t count) const noexcept {
    const Found& own = room_.found[f];
    return std::none_of(room_.found, room_.found + count, [&](const Found& other) {
      if (std::abs(other.place - own.place) > g_.half) return false;
      return other.fit > own.fit || (other.fit == own.fit && other.place < own.place);
    });
  }

  void emit(const Found& found) noexcept {
    const auto count = [this](Event e) -> std::int64_t& { return out_.events[e]; };
    if (!fresh_.has(found.start < 0 ? at(found.place) : found.start)) return;
    if (found.start < 0 || found.start + g_.frame > length_) return static_cast<void>(++count(kCut));
    const std::int64_t index = count(kFound);
    if (index == out_.most) return static_cast<void>(++count(kCrowded));
    const float energy = energy_of(found.start);
    if (!(energy >= kLeastEnergy && energy <= kMostEnergy)) return static_cast<void>(++count(kNotFinite));
    const double offset = refined(found);
    out_.start[index] = found.start;
    out_.metric[index] = found.metric;
    out_.offset_hz[index] = static_cast<float>(offset * g_.rate_hz / static_cast<double>(g_.fft));
    copy_frame(found.start, out_.offset_hz[index], out_.frames + index * g_.antennas * g_.given());
    ++count(kFound);
  }

  /// Over all antennas: whole steps, and the samples that remain at both ends.
  float energy_of(std::int64_t start) const noexcept {
    const std::int64_t end = start + g_.frame;
    const std::int64_t first = ceil_div(start - lead_, g_.step), last = floor_div(end - lead_, g_.step);
    float energy = 0;
    for (std::int64_t r = 0; r < g_.antennas; ++r) {
      for (std::int64_t n = start; n < at(first); ++n) energy += power_at(r, n);
      for (std::int64_t b = first; b < last; ++b) energy += part(r, 2)[b];
      for (std::int64_t n = at(last); n < end; ++n) energy += power_at(r, n);
    }
    return energy;
  }
  float power_at(std::int64_t r, std::int64_t n) const noexcept {
    const cf32 x = complex_of(x_(r, n));
    return x.real() * x.real() + x.imag() * x.imag();
  }

  /// All prefixes of the frame contribute to the offset; antennas are weighted as with the halves.
  double refined(const Found& found) const noexcept {
    Combined halves, prefixes;
    for (std::int64_t r = 0; r < g_.antennas; ++r) {
      const Complex c = halves_of(r, found.place).c;
      halves.add(c);
      prefixes.add(c, prefixes_of(r, found.start));
    }
    return refined_offset(g_, found.offset, halves, prefixes);
  }
  Complex prefixes_of(std::int64_t r, std::int64_t start) const noexcept {
    const std::int64_t count = g_.symbols * g_.prefix;
    std::array<Stretches, kPrefixParts> sums{};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t n = start + g_.repeated_at(i);
      sums[static_cast<std::size_t>(i % kPrefixParts)].add(parts(complex_of(x_(r, n))),
                                                           parts(complex_of(x_(r, n + g_.fft))));
    }
    const Stretches prefixes = sum_of(sums);
    if (!g_.rejects_tones()) return alike(prefixes, 1 / static_cast<float>(count)).c;
    return alike_beside_tones(prefixes, static_cast<float>(count), whole_of(r, start),
                              static_cast<float>(g_.frame - g_.fft));
  }
  /// All samples of a frame that have one fft later.
  Stretches whole_of(std::int64_t r, std::int64_t start) const noexcept {
    const std::int64_t count = g_.frame - g_.fft;
    const std::int64_t most = (room_.tile - g_.lag) / kPrefixParts * kPrefixParts;
    StretchParts all{};
    for (std::int64_t i = 0; i < count; i += most) {
      const std::int64_t n = std::min(most, count - i);
      load(r, start + i, n + g_.fft);
      add_stretches(room_.re, room_.im, g_.fft, n, all);
    }
    std::array<Stretches, kPrefixParts> sums{};
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] = {{all[0][i], all[1][i]}, all[2][i], {all[3][i], all[4][i]}, {all[5][i], all[6][i]}};
    return sum_of(sums);
  }
  static Stretches sum_of(std::array<Stretches, kPrefixParts>& sums) noexcept {
    constexpr int kWarp = 32;  // summed as on a GPU
    for (auto warp = sums.begin(); warp < sums.end(); warp += kWarp) {
      for (int n = kWarp / 2; n > 0; n /= 2)
        for (int j = 0; j < n; ++j) warp[j].add(warp[j + n]);
      if (warp != sums.begin()) sums[0].add(*warp);
    }
    return sums[0];
  }

  /// The tail may not exist: zeros.
  void copy_frame(std::int64_t start, float offset_hz, cf32* to) const noexcept {
    const std::int64_t there = std::min(g_.given(), length_ - start);
    const Phasors phasors({turns_against(offset_hz, g_.rate_hz)}, room_.phasors);
    cf32* const turns = room_.phasors + kRun;
    for (std::int64_t m = 0; m < there; m += kRun) {
      phasors.run(m, turns);
      const std::int64_t count = std::min(kRun, there - m);
      for (std::int64_t r = 0; r < g_.antennas; ++r) {
        const Sample* const x = &x_(r, start + m);
        for (std::int64_t i = 0; i < count; ++i) to[r * g_.given() + m + i] = dsp::product(complex_of(x[i]), turns[i]);
      }
    }
    for (std::int64_t r = 0; r < g_.antennas; ++r) std::fill_n(to + r * g_.given() + there, g_.given() - there, cf32());
  }

  const Grid& g_;
  const FftPlan& forward_;
  Training training_;
  View<const Sample, 2> x_;
  std::int64_t length_;
  Positions fresh_;
  std::int64_t lead_;
  std::int64_t places_;
  const Room& room_;
  Output& out_;
  std::array<Sums, kMostAntennas> sums_{};
  std::array<Alikes, kMostAntennas> alikes_{};
};

}  // namespace

Search::Search(Pattern pattern, std::int64_t most_new)
    : pattern_(std::move(pattern)),
      most_new_(most_new),
      forward_(pattern_.grid.fft),
      inverse_(pattern_.grid.fft, FftPlan::Direction::inverse) {}

std::size_t scratch_bytes(const Pattern& pattern, std::int64_t most_new) {
  return Room{pattern.grid, most_new, Scratch(nullptr)}.scratch.bytes();
}

template <class Sample> void Search::run(View<const Sample, 2> x, Positions fresh, std::int64_t lead,
                                         std::byte* scratch, Output& out) const noexcept {
  const Room room{pattern_.grid, most_new_, Scratch(scratch)};
  Block<Sample>(pattern_, forward_, inverse_, x, fresh, lead, room, out).run();
}
template void Search::run(View<const cf32, 2>, Positions, std::int64_t, std::byte*, Output&) const noexcept;
template void Search::run(View<const sc16, 2>, Positions, std::int64_t, std::byte*, Output&) const noexcept;

}  // namespace iqd::ofdm_sync
