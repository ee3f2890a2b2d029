// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "base/integer.hpp"
#include "pipeline/stages/telemetry/preamble_search/cells.hpp"
#include "pipeline/stages/telemetry/preamble_search/correlate.hpp"
#include "pipeline/stages/telemetry/preamble_search/preamble_search.hpp"
#include "signal/filters/interleave.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::preamble_search {
namespace {

/// Positions processed together: their arrays fit into the L2 cache, and neighbouring tiles repeat little work.
constexpr std::int64_t kTile = 4096;

/// How positions are divided: into cells, and cells into tiles.
struct Layout {
  explicit Layout(const Pattern& p)
      : cell(std::min(p.half + 1, std::max(kTile, p.span))), tile(std::max(kTile, p.span) / cell * cell) {}
  std::int64_t cell;
  std::int64_t tile;
};

struct Room {
  const Pattern& p;
  std::int64_t most_new;
  Scratch scratch;
  Layout layout = Layout(p);
  std::int64_t inputs = std::max(layout.tile, p.samples) + p.span + kMargin;
  std::int64_t outputs = layout.tile + p.span + kMargin;
  Tile tile{.re = scratch.take<float>(inputs),
            .im = scratch.take<float>(inputs),
            .power = scratch.take<float>(outputs),
            .energy = scratch.take<float>(outputs),
            .level = scratch.take<float>(outputs),
            .metric = scratch.take<float>(outputs)};
  Cell* cells = scratch.take<Cell>(ceil_div(most_new + 2 * (p.reach() + p.half), layout.cell));
};

template <class Sample> class Search {
 public:
  Search(const Pattern& pattern, View<const Sample, 1> x, Positions fresh, const Room& room, Output& out)
      : p_(pattern),
        layout_(pattern),
        x_(x),
        length_(x.extent(0)),
        fresh_(fresh),
        searched_(pattern.searched(length_, fresh)),
        cells_(ceil_div(searched_.length(), layout_.cell)),
        room_(room),
        out_(out) {}

  void run() noexcept {
    fill_cells();
    const Positions peaks = p_.peaks(fresh_);
    for (std::int64_t k = 0; k < cells_; ++k) {
      const Cell& cell = room_.cells[k];
      const std::int64_t n = first_of(k) + cell.place;
      if (cell.level > 0 && cell.metric >= p_.threshold && peaks.has(n) && is_peak(n, cell.level))
        emit(n, p_.refine ? refined(n) : n, cell.metric);
    }
  }

 private:
  std::int64_t first_of(std::int64_t cell) const noexcept { return searched_.first + cell * layout_.cell; }

  /// Samples n … n + count - 1 contiguously; zero where there are none.
  void load(std::int64_t n, std::int64_t count) const noexcept {
    const std::int64_t before = std::clamp<std::int64_t>(-n, 0, count);
    const std::int64_t there = std::clamp<std::int64_t>(length_ - n, before, count);
    for (float* const part : {room_.tile.re, room_.tile.im}) {
      std::fill_n(part, before, 0.0f);
      std::fill(part + there, part + count, 0.0f);
    }
    if (there > before) split(x_.data() + n + before, there - before, room_.tile.re + before, room_.tile.im + before);
  }

  /// L and T of n … n + outputs - 1; 0 where they do not exist.
  void fill_tile(std::int64_t n, std::int64_t outputs) const noexcept {
    load(n, outputs + p_.span);
    correlate(p_.preamble.data(), p_.period, p_.repeats, room_.tile, outputs);
    const std::int64_t before = std::clamp<std::int64_t>(-n, 0, outputs);
    const std::int64_t there = std::clamp<std::int64_t>(length_ - p_.span + 1 - n, before, outputs);
    for (float* const part : {room_.tile.level, room_.tile.metric}) {
      std::fill_n(part, before, 0.0f);
      std::fill(part + there, part + outputs, 0.0f);
    }
  }

  /// Also writes the correlation if it is wanted; its range may exceed the searched one.
  void fill_cells() noexcept {
    const Positions wanted = out_.correlation ? out_.correlated : Positions{searched_.first, searched_.first};
    const std::int64_t origin = searched_.first;
    const std::int64_t begin = floor_div(std::min<std::int64_t>(0, wanted.first - origin), layout_.tile);
    const std::int64_t end = std::max(origin + searched_.length(), wanted.end);
    for (std::int64_t n = origin + begin * layout_.tile; n < end; n += layout_.tile) {
      const std::int64_t outputs = std::min(layout_.tile, end - n);
      fill_tile(n, outputs);
      for (std::int64_t first = 0; first < outputs; first += layout_.cell)
        fill_cell((n - origin + first) / layout_.cell, first, std::min(layout_.cell, outputs - first));
      const std::int64_t from = std::max(n, wanted.first);
      const std::int64_t to = std::min(n + outputs, wanted.end);
      if (from < to) std::copy_n(room_.tile.metric + (from - n), to - from, out_.correlation + (from - wanted.first));
    }
  }

  void fill_cell(std::int64_t k, std::int64_t first, std::int64_t length) const noexcept {
    if (k < 0 || k >= cells_) return;
    const std::int64_t place = find_largest(room_.tile.level + first, length);
    room_.cells[k] = {room_.tile.level[first + place], room_.tile.metric[first + place],
                      static_cast<std::int32_t>(place)};
  }

  bool is_peak(std::int64_t n, float level) const noexcept {
    const std::int64_t first = std::max<std::int64_t>(0, floor_div(n - p_.half - searched_.first, layout_.cell));
    const std::int64_t last = std::min(cells_ - 1, (n + p_.half - searched_.first) / layout_.cell);
    for (std::int64_t k = first; k <= last; ++k) {
      const Verdict verdict = compare(room_.cells[k], first_of(k), n, level, p_.half);
      if (verdict == Verdict::no) return false;
      if (verdict == Verdict::look && !is_largest_in(k, n, level)) return false;
    }
    return true;
  }

  /// Compares with the part of a cell that lies within half a packet.
  bool is_largest_in(std::int64_t k, std::int64_t n, float level) const noexcept {
    const std::int64_t from = std::max(first_of(k), n - p_.half);
    const std::int64_t to = std::min(first_of(k + 1), n + p_.half + 1);
    fill_tile(from, to - from);
    const float largest = room_.tile.level[find_largest(room_.tile.level, to - from)];
    return largest < level || (largest == level && from > n);
  }

  /// The start at which the sync word fits best: near the peak, or anywhere before the first sample where the preamble
  /// may have begun.
  std::int64_t refined(std::int64_t n) const noexcept {
    std::int64_t best = n;
    float best_fit = -1;
    const auto word = std::ssize(p_.sync_word);
    for (std::int64_t step = n < p_.span ? 1 - p_.repeats : -p_.steps; step <= p_.steps; ++step) {
      const std::int64_t start = n + step * p_.period;
      if ((step < -p_.steps && start >= 0) || start + p_.span + word > length_) continue;
      load(start + p_.span, word);
      const float here = fit(room_.tile.re, room_.tile.im, p_.sync_word.data(), word, p_.period);
      if (!(here > best_fit) || here > std::numeric_limits<float>::max()) continue;
      best = start;
      best_fit = here;
    }
    return Pattern::settled(best);
  }

  void emit(std::int64_t peak, std::int64_t start, float metric) noexcept {
    if (!fresh_.has(start < 0 ? peak : start)) return;
    const auto count = [this](Event e) -> std::int64_t& { return out_.events[e]; };
    if (start < 0 || start + p_.samples + Pattern::kGuard > length_) return static_cast<void>(++count(kCut));
    const std::int64_t index = count(kFound);
    if (index == out_.windows.extent(0)) return static_cast<void>(++count(kCrowded));
    const float energy = copy_window(start, out_.windows.row(index));
    if (!(energy >= kLeastEnergy && energy <= kMostEnergy)) return static_cast<void>(++count(kNotFinite));
    out_.start[index] = start;
    out_.metric[index] = metric;
    ++count(kFound);
  }

  /// Returns its energy.
  float copy_window(std::int64_t start, View<cf32, 1> to) const noexcept {
    constexpr std::int64_t kSums = 16;  // independent sums, so that the compiler vectorizes
    const std::int64_t zeros = std::max<std::int64_t>(0, Pattern::kGuard - start);
    const Sample* const from = x_.data() + (start - Pattern::kGuard + zeros);
    std::fill_n(to.data(), zeros, cf32());
    std::transform(from, from + to.extent(0) - zeros, to.data() + zeros, [](Sample x) { return complex_of(x); });
    const float* const parts = reinterpret_cast<const float*>(to.data());
    const std::int64_t n = 2 * to.extent(0);
    std::array<float, kSums> sums{};
    for (std::int64_t i = 0; i + kSums <= n; i += kSums)
      for (std::int64_t j = 0; j < kSums; ++j) sums[static_cast<std::size_t>(j)] += parts[i + j] * parts[i + j];
    float energy = 0;
    for (const float sum : sums) energy += sum;
    for (std::int64_t i = n / kSums * kSums; i < n; ++i) energy += parts[i] * parts[i];
    return energy;
  }
  static cf32 complex_of(cf32 x) noexcept { return x; }
  static cf32 complex_of(sc16 x) noexcept {
    return {static_cast<float>(x.re) * (1.0f / 32768), static_cast<float>(x.im) * (1.0f / 32768)};
  }

  const Pattern& p_;
  Layout layout_;
  View<const Sample, 1> x_;
  std::int64_t length_;
  Positions fresh_;
  Positions searched_;
  std::int64_t cells_;
  const Room& room_;
  Output& out_;
};

std::vector<cf32> rounded(const std::vector<std::complex<double>>& x, double scale) {
  std::vector<cf32> y;
  for (const std::complex<double> v : x) y.emplace_back(scale * v);
  return y;
}

}  // namespace

Pattern::Pattern(const Config& config)
    : threshold(static_cast<float>(config.threshold)),
      refine(config.refine),
      period(config.format.period()),
      repeats(config.format.repeats),
      span(period * repeats),
      samples(config.format.samples()),
      half(samples / 2),
      // At most this many keep starts in the order of their peaks, which are more than half a packet apart.
      steps(std::min<std::int64_t>(2, half / 2 / period)) {
  const auto q = soqpsk::preamble_waveform(config.format, config.form);
  double energy = 0;
  for (const std::complex<double> v : q) energy += std::norm(v);
  preamble = rounded(q, 1 / std::sqrt(energy));
  auto pilot = soqpsk::pilot_waveform(config.format);
  pilot.erase(pilot.begin(), pilot.begin() + span);
  sync_word = rounded(pilot, 1);
}

std::int64_t Pattern::past() const noexcept {
  return std::max({reach() + half, reach() + span, kGuard});
}

std::int64_t Pattern::future() const noexcept {
  const std::int64_t to_compare = reach() + half + span - 1;
  const std::int64_t to_refine = 2 * reach() + span + std::ssize(sync_word) - 1;
  return std::max({to_compare, to_refine, samples + kGuard - 1});
}

std::size_t scratch_bytes(const Pattern& pattern, std::int64_t most_new) {
  return Room{pattern, most_new, Scratch(nullptr)}.scratch.bytes();
}

template <class Sample> void run_cpu(const Pattern& pattern, View<const Sample, 1> x, Positions fresh,
                                     std::byte* scratch, std::int64_t most_new, Output& out) noexcept {
  const Room room{pattern, most_new, Scratch(scratch)};
  Search<Sample>(pattern, x, fresh, room, out).run();
}
template void run_cpu(const Pattern&, View<const cf32, 1>, Positions, std::byte*, std::int64_t, Output&) noexcept;
template void run_cpu(const Pattern&, View<const sc16, 1>, Positions, std::byte*, std::int64_t, Output&) noexcept;

}  // namespace iqd::preamble_search
