// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>

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
  explicit Layout(const Pattern& p) : cell(p.near + 1), tile(std::max(kTile, p.span) / cell * cell) {}
  std::int64_t cell;
  std::int64_t tile;
};

struct Room {
  const Pattern& p;
  std::int64_t most_new;
  Scratch scratch;
  Layout layout = Layout(p);
  std::int64_t inputs = layout.tile + p.span + p.word() + kMargin;
  std::int64_t outputs = layout.tile + p.span + kMargin;
  Tile tile{.re = scratch.take<float>(inputs),
            .im = scratch.take<float>(inputs),
            .power = scratch.take<float>(outputs),
            .energy = scratch.take<float>(outputs),
            .level = scratch.take<float>(outputs),
            .metric = scratch.take<float>(outputs)};
  std::int64_t most = p.most_candidates(most_new) + 2;
  Cell* cells = scratch.take<Cell>(most);
  Candidate* candidates = scratch.take<Candidate>(most);
  Link* links = scratch.take<Link>(most);
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

  void run(std::int64_t origin, Track& track) noexcept {
    fill_cells();
    const std::int32_t count = find_candidates();
    link_candidates(p_.spacing, room_.candidates, count, room_.links);
    const std::int32_t known = p_.carry ? track.run : 0;
    std::int32_t at = first_of_chain(p_.spacing, room_.candidates, count, room_.links, track.last - origin, known);
    const auto emit = [this](const Start& start) { this->emit(start); };
    StartWalk walk(p_.spacing, fresh_, origin, p_.flywheel, track, emit);
    for (; at >= 0; at = room_.links[at].next)
      walk.found(Pattern::settled(room_.candidates[at].n), room_.candidates[at].metric);
    walk.none();
    if (!p_.flywheel) return;
    out_.events[kLocked] = walk.locks;
    out_.events[kLostLock] = walk.losses;
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

  /// T of n … n + outputs - 1, 0 where it does not exist; and U as the tile's level, where both shares suffice, else 0.
  /// Returns whether there is one.
  bool fill_tile(std::int64_t n, std::int64_t outputs) const noexcept {
    const Tile& tile = room_.tile;
    load(n, outputs + p_.span + p_.word());
    correlate(p_.preamble.data(), p_.period, p_.repeats, tile, outputs);
    const std::int64_t there = std::clamp<std::int64_t>(length_ - p_.span + 1 - n, 0, outputs);
    std::fill(tile.metric + there, tile.metric + outputs, 0.0f);
    std::fill_n(tile.level, outputs, 0.0f);
    const std::int64_t end = std::min(there, length_ - p_.span - p_.word() + 1 - n);
    bool any = false;
    for (std::int64_t i = 0; (i = find_reaching(tile.metric, i, end, p_.threshold)) < end; ++i) {
      const std::int64_t word = i + p_.span;
      const float share = share_of_word(tile.re + word, tile.im + word, p_.sync_word.data(), p_.word(), p_.period);
      if (share < p_.least_share) continue;
      tile.level[i] = tile.metric[i] + share;
      any = true;
    }
    return any;
  }

  /// Also writes the correlation if it is wanted; its range may exceed the searched one.
  void fill_cells() noexcept {
    const Positions wanted = out_.correlation ? out_.correlated : Positions{searched_.first, searched_.first};
    const std::int64_t origin = searched_.first;
    const std::int64_t begin = floor_div(std::min<std::int64_t>(0, wanted.first - origin), layout_.tile);
    const std::int64_t end = std::max(origin + searched_.length(), wanted.end);
    for (std::int64_t n = origin + begin * layout_.tile; n < end; n += layout_.tile) {
      const std::int64_t outputs = std::min(layout_.tile, end - n);
      const bool any = fill_tile(n, outputs);
      for (std::int64_t first = 0; first < outputs; first += layout_.cell)
        fill_cell((n - origin + first) / layout_.cell, first, std::min(layout_.cell, outputs - first), any);
      const std::int64_t from = std::max(n, wanted.first);
      const std::int64_t to = std::min(n + outputs, wanted.end);
      if (from < to) std::copy_n(room_.tile.metric + (from - n), to - from, out_.correlation + (from - wanted.first));
    }
  }

  void fill_cell(std::int64_t k, std::int64_t first, std::int64_t length, bool any) const noexcept {
    if (k < 0 || k >= cells_) return;
    const std::int64_t place = any ? find_largest(room_.tile.level + first, length) : 0;
    room_.cells[k] = {room_.tile.level[first + place], room_.tile.metric[first + place],
                      static_cast<std::int32_t>(place)};
  }

  /// Returns how many there are.
  std::int32_t find_candidates() noexcept {
    const Positions within = p_.candidates(fresh_);
    std::int32_t count = 0;
    for (std::int64_t k = 0; k < cells_; ++k) {
      const Cell& cell = room_.cells[k];
      const std::int64_t n = first_of(k) + cell.place;
      if (cell.level > 0 && within.has(n) && is_best(n, cell.level))
        room_.candidates[count++] = {n, cell.metric, cell.level};
    }
    return count;
  }

  bool is_best(std::int64_t n, float level) const noexcept {
    const std::int64_t first = std::max<std::int64_t>(0, floor_div(n - p_.near - searched_.first, layout_.cell));
    const std::int64_t last = std::min(cells_ - 1, (n + p_.near - searched_.first) / layout_.cell);
    for (std::int64_t k = first; k <= last; ++k) {
      const Verdict verdict = compare(room_.cells[k], first_of(k), n, level, p_.near);
      if (verdict == Verdict::no) return false;
      if (verdict == Verdict::look && !is_largest_in(k, n, level)) return false;
    }
    return true;
  }

  /// Compares with the part of a cell that lies within reach.
  bool is_largest_in(std::int64_t k, std::int64_t n, float level) const noexcept {
    const std::int64_t from = std::max(first_of(k), n - p_.near);
    const std::int64_t to = std::min({first_of(k + 1), n + p_.near + 1, searched_.end});
    if (!fill_tile(from, to - from)) return true;
    const float largest = room_.tile.level[find_largest(room_.tile.level, to - from)];
    return largest < level || (largest == level && from > n);
  }

  void emit(const Start& start) noexcept {
    const auto count = [this](Event e) -> std::int64_t& { return out_.events[e]; };
    if (start.n < 0 || start.n + p_.spacing.samples + Pattern::kGuard > length_)
      return static_cast<void>(count(kCut) += 1 - start.flywheel);
    const std::int64_t index = count(kFound);
    if (index == out_.windows.extent(0)) return static_cast<void>(++count(kCrowded));
    const float energy = copy_window(start.n, out_.windows.row(index));
    if (!(energy >= kLeastEnergy && energy <= kMostEnergy)) return static_cast<void>(++count(kNotFinite));
    out_.start[index] = start.n;
    out_.metric[index] = start.metric;
    if (p_.flywheel) {
      out_.flywheel[index] = start.flywheel;
      out_.lock[index] = start.lock;
    }
    count(kFlywheel) += start.flywheel;
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
      least_share(static_cast<float>(std::min(kLeastShare, kShareOfThreshold * config.threshold))),
      carry(config.chain == Chain::carry),
      flywheel(config.flywheel),
      period(config.format.period()),
      repeats(config.format.repeats),
      span(period * repeats),
      near(span / 2),
      spacing{config.format.samples(), config.format.samples() - span / 4,
              std::min(2 * config.format.samples_per_bit, span / 4)} {
  const auto q = soqpsk::preamble_waveform(config.format, config.form);
  double energy = 0;
  for (const std::complex<double> v : q) energy += std::norm(v);
  preamble = rounded(q, 1 / std::sqrt(energy));
  auto pilot = soqpsk::pilot_waveform(config.format);
  pilot.erase(pilot.begin(), pilot.begin() + span);
  sync_word = rounded(pilot, 1);
}

std::int64_t Pattern::past() const noexcept {
  return std::max(carry ? near : spacing.samples + near, kGuard);
}

std::int64_t Pattern::future() const noexcept {
  return spacing.samples - 1 + std::max(near + span + word() - 1, kGuard);
}

std::size_t scratch_bytes(const Pattern& pattern, std::int64_t most_new) {
  return Room{pattern, most_new, Scratch(nullptr)}.scratch.bytes();
}

template <class Sample> void run_cpu(const Pattern& pattern, View<const Sample, 1> x, Positions fresh,
                                     std::int64_t origin, Track& track, std::byte* scratch, std::int64_t most_new,
                                     Output& out) noexcept {
  const Room room{pattern, most_new, Scratch(scratch)};
  Search<Sample>(pattern, x, fresh, room, out).run(origin, track);
}
template void run_cpu(const Pattern&, View<const cf32, 1>, Positions, std::int64_t, Track&, std::byte*, std::int64_t,
                      Output&) noexcept;
template void run_cpu(const Pattern&, View<const sc16, 1>, Positions, std::int64_t, Track&, std::byte*, std::int64_t,
                      Output&) noexcept;

}  // namespace iqd::preamble_search
