// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "base/integer.hpp"
#include "radio/soapy-modules/sim/scenarios/reception.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"
#include "signal/filters/filter_design.hpp"
#include "signal/formats/pn_sequence.hpp"

namespace iqd::sim {
namespace {

/// The pulse extends this many symbols to each side. What is cut off is 65 dB below the symbols, for a roll-off of
/// 0.35.
constexpr std::int64_t kReach = 16;
constexpr std::int64_t kParts = 256;  // per symbol, at which the pulse is tabulated

/// A root raised cosine: for each position between symbols, the weights of the symbols around it, whose squares sum to
/// 1.
class Pulse {
 public:
  explicit Pulse(double alpha) {
    const auto taps = root_raised_cosine(1, kParts, alpha, 2 * kReach * kParts + 1);
    double energy = 0;
    for (const double h : taps) energy += h * h;
    const double scale = 1 / std::sqrt(energy / kParts);
    for (std::size_t part = 0; part <= kParts; ++part)
      for (std::size_t k = 0; k < 2 * kReach; ++k)
        weights_.push_back(static_cast<float>(scale * taps[part + kParts * (2 * kReach - 1 - k)]));
  }
  /// sum over the symbols k = 0 … 2 reach - 1 of s(k) h(place + reach - 1 - k), place in 0 … 1
  cf32 at(double place, const cf32* symbols) const noexcept {
    const double part = place * kParts;
    const auto whole = std::min(static_cast<std::int64_t>(part), kParts - 1);
    const auto behind = static_cast<float>(part - static_cast<double>(whole));
    const float* const a = &weights_[static_cast<std::size_t>(whole * 2 * kReach)];
    const float* const b = a + 2 * kReach;
    float re = 0, im = 0;
    for (std::int64_t k = 0; k < 2 * kReach; ++k) {
      const float weight = a[k] + behind * (b[k] - a[k]);
      re += weight * symbols[k].real();
      im += weight * symbols[k].imag();
    }
    return {re, im};
  }

 private:
  std::vector<float> weights_;  // [part][symbol]
};

/// The symbols of an endless bit sequence, two bits each. Its period is odd, so symbols repeat after as many symbols as
/// the period has bits.
class Symbols {
 public:
  Symbols(const PnSequence& pn, bool differential) : quarters_(static_cast<std::size_t>(pn.period())) {
    // For 00 01 10 11, in quarter turns: the step from the previous symbol, or the angle from 00.
    static constexpr std::array<std::uint8_t, 4> steps{0, 1, 3, 2}, places{0, 3, 1, 2};
    std::uint32_t state = pn.mask();
    for (std::uint8_t& quarter : quarters_) {
      const std::uint32_t first = pn.bit(state);
      state = pn.next(state);
      const std::uint32_t dibit = first << 1 | pn.bit(state);
      state = pn.next(state);
      turned_ = static_cast<std::uint8_t>(differential ? (turned_ + steps[dibit]) % 4 : 0);
      quarter = differential ? turned_ : places[dibit];
    }
  }
  /// exp(j (pi / 4 + quarters pi / 2)): 00 is in the first quadrant. Nothing before symbol 0.
  cf32 at(std::int64_t k) const noexcept {
    if (k < 0) return 0;
    const std::int64_t period = std::ssize(quarters_);
    const auto turn = (k / period % 4 * turned_ + quarters_[static_cast<std::size_t>(k % period)]) % 4;
    constexpr float kPart = 0.70710678f;
    return {turn == 0 || turn == 3 ? kPart : -kPart, turn < 2 ? kPart : -kPart};
  }

 private:
  std::vector<std::uint8_t> quarters_;
  std::uint8_t turned_ = 0;  // per period
};

/// QPSK with root raised cosine pulses; the receiver knows neither timing, phase nor clock.
class QpskScenario final : public Scenario {
 public:
  explicit QpskScenario(const Setting& setting)
      : symbol_rate_(positive(setting.arguments, "symbol_rate", setting.rate_hz / 4, setting.rate_hz / 2)),
        timing_(setting.arguments.number_up_to("timing", 0.3, 1)),
        pulse_(setting.arguments.number_up_to("alpha", 0.35, 1)),
        order_(order_of(static_cast<PnName>(setting.arguments.choice("payload", "pn15", enum_names(PnName{}))))),
        differential_(setting.arguments.flag("differential", true)),
        reception_(setting, noise_of(setting)) {}

  void prepare() override { symbols_ = std::make_unique<Symbols>(PnSequence(order_), differential_); }

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    if (!symbols_) prepare();
    std::int64_t held = -1;  // the symbol before the sample; those around it are in `around`
    std::array<cf32, 2 * kReach> around{};
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double at = reception_.time_at(first + static_cast<std::int64_t>(i)) * symbol_rate_ - timing_;
      const auto symbol = static_cast<std::int64_t>(std::floor(at));
      if (symbol != held || i == 0)
        for (std::int64_t k = 0; k < 2 * kReach; ++k)
          around[static_cast<std::size_t>(k)] = symbols_->at(symbol - kReach + 1 + k);
      held = symbol;
      out[i] = pulse_.at(at - static_cast<double>(symbol), around.data());
    }
    reception_.receive(channel, first, out);
  }

 private:
  /// A symbol of power 1 has an energy equal to its duration in samples.
  std::optional<double> noise_of(const Setting& setting) const {
    const std::optional<double> eb_n0_db = setting.arguments.number("ebn0");
    if (!eb_n0_db) return std::nullopt;
    return -*eb_n0_db + 10 * std::log10(setting.rate_hz / symbol_rate_ / 2);
  }

  double symbol_rate_;
  double timing_;
  Pulse pulse_;
  int order_;
  bool differential_;
  Reception reception_;
  std::unique_ptr<Symbols> symbols_;
};

}  // namespace

std::unique_ptr<Scenario> make_qpsk(const Setting& setting) {
  return std::make_unique<QpskScenario>(setting);
}

}  // namespace iqd::sim
