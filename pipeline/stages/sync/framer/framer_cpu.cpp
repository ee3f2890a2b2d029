// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "pipeline/stages/sync/framer/framer.hpp"
#include "pipeline/stages/sync/framer/metric.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::framer {
namespace {

constexpr std::int64_t kTile = 512;  // adjacent positions, whose sums stay in the L1 cache

struct Sums {
  float weighted[kTile];
  float plain[kTile];
  float squares[kTile];
};

/// T of x's first `count` positions, each from its own samples in the order of the chips.
void correlate(const Plan& plan, const float* x, std::int64_t count, Sums& sums, float* metric) noexcept {
  std::fill_n(sums.weighted, count, 0.0f);
  std::fill_n(sums.plain, count, 0.0f);
  std::fill_n(sums.squares, count, 0.0f);
  for (std::size_t k = 0; k < plan.offsets.size(); ++k) {
    const float* const at = x + plan.offsets[k];
    const float weight = plan.weights[k];
    for (std::int64_t n = 0; n < count; ++n) {
      sums.weighted[n] += weight * at[n];
      sums.plain[n] += at[n];
      sums.squares[n] += at[n] * at[n];
    }
  }
  const auto chips = static_cast<float>(plan.offsets.size());
  for (std::int64_t n = 0; n < count; ++n)
    metric[n] = metric_of(sums.weighted[n], sums.plain[n], sums.squares[n], chips);
}

class Search {
 public:
  Search(const Plan& plan, View<const float, 1> x, std::int64_t first, std::int64_t end, std::byte* scratch,
         Output& out) noexcept
      : plan_(plan),
        x_(x),
        // One more on each side, for the vertex.
        begin_(std::max<std::int64_t>(0, first - plan.span)),
        end_(std::min(x.extent(0) - plan.span, end + plan.span)),
        first_(first),
        last_(std::min(end, end_)),
        metric_(Scratch(scratch).take<float>(0)),
        out_(out) {}

  void run() noexcept {
    Sums sums;
    for (std::int64_t n = begin_; n < end_; n += kTile)
      correlate(plan_, x_.data() + n, std::min(kTile, end_ - n), sums, metric_ + (n - begin_));
    for (std::int64_t n = first_; n < last_; ++n)
      if (at(n) >= plan_.threshold && at(n) > 0 && is_largest(n)) take(n);
  }

 private:
  float at(std::int64_t n) const noexcept { return n < begin_ || n >= end_ ? 0 : metric_[n - begin_]; }

  bool is_largest(std::int64_t n) const noexcept {
    const float* const m = metric_ - begin_;
    const float peak = m[n];
    const std::int64_t from = std::max(begin_, n - plan_.span);
    const std::int64_t to = std::min(end_, n + plan_.span + 1);
    return std::all_of(m + from, m + n, [peak](float t) { return t < peak; }) &&
           std::all_of(m + n + 1, m + to, [peak](float t) { return t <= peak; });
  }

  void take(std::int64_t n) noexcept {
    const auto index = static_cast<std::size_t>(out_.events[static_cast<std::size_t>(Ending::good)]);
    std::int32_t length = 0;
    const Ending ending = read_frame(plan_.rules(), x_.data(), x_.extent(0), n, vertex(at(n - 1), at(n), at(n + 1)),
                                     out_.bytes + static_cast<std::int64_t>(index) * plan_.format.bytes, length);
    ++out_.events[static_cast<std::size_t>(ending)];
    if (ending != Ending::good) return;
    out_.start[index] = n;
    out_.length[index] = length;
    out_.metric[index] = at(n);
  }

  const Plan& plan_;
  View<const float, 1> x_;
  std::int64_t begin_, end_;   // where T is known
  std::int64_t first_, last_;  // where frames may begin
  float* metric_;
  Output& out_;
};

}  // namespace

Plan::Plan(const FrameFormat& frame, double samples_a_chip, double least, double gain)
    : format(frame),
      chip(samples_a_chip),
      threshold(static_cast<float>(least)),
      tracking(static_cast<float>(gain)),
      span(std::llround(static_cast<double>(frame.pattern.size() - 1) * samples_a_chip)) {
  const auto chips = static_cast<double>(frame.pattern.size());
  const double ones = static_cast<double>(std::count(frame.pattern.begin(), frame.pattern.end(), 1));
  const double scale = std::sqrt(chips / (ones * (chips - ones)));
  for (std::size_t k = 0; k < frame.pattern.size(); ++k) {
    offsets.push_back(static_cast<std::int32_t>(std::llround(static_cast<double>(k) * chip)));
    weights.push_back(static_cast<float>((frame.pattern[k] - ones / chips) * scale));
  }
  for (std::size_t c = 0; c < frame.one.size(); ++c)
    bit.push_back(static_cast<float>(frame.one[c]) - static_cast<float>(frame.zero[c]));
}

std::int64_t Plan::reach() const noexcept {
  // The loop delays each chip by at most half a chip times `tracking`.
  const double slowest = chip * (1 + static_cast<double>(tracking) / 2);
  return static_cast<std::int64_t>(static_cast<double>(format.chips(format.most_bytes())) * slowest) + 2;
}
std::int64_t Plan::future() const noexcept {
  return std::max(reach(), 2 * span + 1);
}

std::size_t scratch_bytes(const Plan& plan, std::int64_t most_new) {
  Scratch scratch(nullptr);
  scratch.take<float>(most_new + 2 * plan.span);
  return scratch.bytes();
}

void run_cpu(const Plan& plan, View<const float, 1> x, std::int64_t first, std::int64_t end, std::byte* scratch,
             Output& out) noexcept {
  Search(plan, x, first, end, scratch, out).run();
}

}  // namespace iqd::framer
