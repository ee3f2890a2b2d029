// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/other_clock.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "signal/filters/fractional_delay.hpp"

namespace iqd::sim {
namespace {

constexpr double kMostClockPpm = 1000;
constexpr std::int64_t kClockTaps = 48;
/// Times are rounded to 1/1024 of a sample: at 0.3 of the rate that is noise of -69 dB.
constexpr std::int64_t kClockPhases = 1024;
/// Samples whose times are computed from that of the first.
constexpr std::int64_t kClockPiece = 4096;

class OtherClock final : public Scenario {
 public:
  OtherClock(double error, std::unique_ptr<Scenario> scenario) : error_(error), scenario_(std::move(scenario)) {
    for (std::int64_t p = 0; p < kClockPhases; ++p) {
      auto taps = fractional_delay(static_cast<double>(p) / static_cast<double>(kClockPhases), kClockTaps);
      std::ranges::reverse(taps);
      taps_.insert(taps_.end(), taps.begin(), taps.end());
    }
  }

  void prepare() override { scenario_->prepare(); }

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    while (!out.empty()) {
      const auto piece = out.first(static_cast<std::size_t>(std::min(kClockPiece, std::ssize(out))));
      render_piece(channel, first, piece);
      first += std::ssize(piece);
      out = out.subspan(piece.size());
    }
  }

 private:
  /// Of the position n at the transmitter: in units of 1/kClockPhases samples beyond n.
  std::int64_t ahead(std::int64_t n) const noexcept {
    return std::llround(static_cast<long double>(n) * error_ * kClockPhases);
  }

  void render_piece(int channel, std::int64_t first, std::span<cf32> out) {
    const auto whole = [&](std::int64_t n) { return n + (ahead(n) >> 10); };
    const std::int64_t from = whole(first) - kClockTaps / 2 + 1;
    sent_.resize(static_cast<std::size_t>(whole(first + std::ssize(out) - 1) + kClockTaps / 2 + 1 - from));
    // Nothing was sent before position 0.
    const std::int64_t silent = std::clamp<std::int64_t>(-from, 0, std::ssize(sent_));
    std::fill_n(sent_.begin(), silent, cf32{});
    scenario_->render(channel, from + silent, std::span(sent_).subspan(static_cast<std::size_t>(silent)));
    for (std::int64_t n = first; cf32 & y : out) {
      const auto* const x = reinterpret_cast<const float*>(sent_.data() + (whole(n) - kClockTaps / 2 + 1 - from));
      const float* const taps = taps_.data() + (ahead(n) & (kClockPhases - 1)) * kClockTaps;
      float re = 0, im = 0;
      for (std::int64_t q = 0; q < kClockTaps; ++q) re += taps[q] * x[2 * q], im += taps[q] * x[2 * q + 1];
      y = {re, im};
      ++n;
    }
  }

  static_assert(kClockPhases == 1 << 10);

  double error_;
  std::unique_ptr<Scenario> scenario_;
  std::vector<float> taps_;  // [phase][tap], of rising positions
  std::vector<cf32> sent_;
};

}  // namespace

std::unique_ptr<Scenario> with_other_clock(const Setting& setting, std::unique_ptr<Scenario> scenario) {
  const double ppm = setting.arguments.number("ppm", 0);
  if (std::fabs(ppm) > kMostClockPpm)
    refuse("ppm", setting.arguments.text("ppm", ""), "expected a number from -1000 to 1000");
  if (ppm == 0) return scenario;
  return std::make_unique<OtherClock>(ppm * 1e-6, std::move(scenario));
}

}  // namespace iqd::sim
