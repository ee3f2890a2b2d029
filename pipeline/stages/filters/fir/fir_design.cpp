// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "config/quantity.hpp"
#include "pipeline/stages/filters/fir/fir.hpp"
#include "signal/filters/filter_design.hpp"

namespace iqd::fir {
namespace {

constexpr std::int64_t kMostTaps = 1 << 20;

using Taps = std::vector<std::complex<double>>;

std::string hertz(double value) {
  return quantity_text(value, Unit::hertz);
}

/// Reads a design's keys and reports problems.
class Reader {
 public:
  Reader(const Design& design, double rate_hz, const Section& section)
      : design_(design), rate_(rate_hz), section_(section) {}

  Taps taps() {
    if (!(rate_ > 0))
      return problem("", "a design needs the sample rate of its input, which is not known: give `taps`");
    return design_.type == Type::rrc ? rrc() : windowed();
  }

 private:
  Taps windowed() {
    const bool band = design_.type == Type::band_pass || design_.type == Type::band_reject;
    const double low = edge(band ? "low" : "cutoff", band ? design_.low : design_.cutoff);
    const double high = band ? edge("high", design_.high) : 0;
    if (band && ok_ && high <= low) problem("high", "has to be above `low`, " + hertz(low));
    const FilterWindow window = filter_window();
    const std::int64_t count = window_taps(window);
    if (!ok_) return {};
    switch (design_.type) {
      case Type::low_pass: return complex(low_pass(low, rate_, count, window, design_.gain));
      case Type::high_pass: return complex(high_pass(low, rate_, count, window, design_.gain));
      case Type::band_pass: return complex(band_pass(low, high, rate_, count, window, design_.gain));
      default: return complex(band_reject(low, high, rate_, count, window, design_.gain));
    }
  }

  Taps rrc() {
    const std::optional<double> symbols = design_.symbol_rate;
    if (!symbols) return problem("symbol_rate", "missing: a root raised cosine needs it, in symbols a second");
    if (!(*symbols > 0 && *symbols < rate_))
      return problem("symbol_rate", "has to lie between 0 and the sample rate, " + quantity_text(rate_, Unit::rate));
    if (design_.ntaps < 1) return problem("ntaps", "missing: usually 11 times the samples per symbol");
    return complex(root_raised_cosine(*symbols, rate_, design_.alpha, design_.ntaps, design_.gain));
  }

  double edge(std::string_view key, const std::optional<double>& value) {
    if (!value) return problem(key, fmt::format("missing: a {} needs it, in Hz", name())), 0;
    if (!(*value > 0 && *value < rate_ / 2))
      problem(key, fmt::format("{} is not between 0 and half the sample rate, {}", hertz(*value), hertz(rate_ / 2)));
    return *value;
  }

  FilterWindow filter_window() const {
    const double beta = design_.attenuation ? kaiser_beta(*design_.attenuation) : kKaiserBeta;
    return {design_.window, design_.beta.value_or(beta)};
  }

  std::int64_t window_taps(const FilterWindow& window) {
    if (design_.ntaps > 0) return design_.ntaps;
    if (!design_.transition)
      return problem("transition", "missing: give the width between pass band and stop band, in Hz"), 0;
    if (!(*design_.transition > 0)) return problem("transition", hertz(*design_.transition) + ": has to be above 0"), 0;
    const double attenuation = design_.attenuation.value_or(attenuation_of(window));
    if (attenuation * rate_ / (22 * *design_.transition) > static_cast<double>(kMostTaps))
      return problem("transition", fmt::format("{} would need more than {} taps: make it wider, or decimate first",
                                               hertz(*design_.transition), kMostTaps)),
             0;
    return tap_count(attenuation, *design_.transition, rate_);
  }

  std::string_view name() const { return kTypeNames[static_cast<std::size_t>(design_.type)]; }

  static Taps complex(const std::vector<double>& real) { return {real.begin(), real.end()}; }

  Taps problem(std::string_view key, std::string what) {
    ok_ = false;
    section_.problem(key.empty() ? "design" : "design." + std::string(key), std::move(what));
    return {};
  }

  const Design& design_;
  double rate_;
  const Section& section_;
  bool ok_ = true;
};

}  // namespace

std::vector<std::complex<double>> taps_of(const Design& design, double rate_hz, const Section& section) {
  return Reader(design, rate_hz, section).taps();
}

PassBand pass_band(const Config& config, double rate_hz) {
  const Design& d = config.design;
  PassBand band{.half_hz = std::numeric_limits<double>::infinity()};
  if (config.designed) {
    if (d.type == Type::low_pass) band.half_hz = *d.cutoff;
    if (d.type == Type::rrc) band.half_hz = *d.symbol_rate * (1 + d.alpha) / 2;
    if (d.type == Type::band_pass) band = {(*d.low + *d.high) / 2, (*d.high - *d.low) / 2};
    return band;
  }
  // The mean turn from tap to tap is the mean frequency, weighted by power.
  std::complex<double> turn = 0;
  for (std::size_t k = 1; k < config.taps.size(); ++k) turn += config.taps[k] * std::conj(config.taps[k - 1]);
  if (turn.imag() != 0) band.middle_hz = std::arg(turn) / (2 * std::numbers::pi) * rate_hz;
  return band;
}

void Design::fields(FieldVisitor& v) {
  v.field("type", type, {.help = "kind of filter; rrc is a root raised cosine"});
  v.field("cutoff", cutoff,
          {.help = "edge of a low or high pass, where the response is 1/2", .unit = Unit::hertz, .live = true});
  v.field("low", low, {.help = "lower edge of a band", .unit = Unit::hertz, .live = true});
  v.field("high", high, {.help = "upper edge of a band", .unit = Unit::hertz, .live = true});
  v.field("transition", transition, {.help = "width of the transition; sets the number of taps", .unit = Unit::hertz});
  v.field("window", window, {.help = "window of the taps"});
  v.field("attenuation", attenuation,
          {.help = "stop-band attenuation; default: the window's own", .unit = Unit::decibel, .low = 1, .high = 300});
  v.field("beta", beta, {.help = "of a Kaiser window; default: from attenuation, or 6.76", .low = 0, .high = 100});
  v.field("gain", gain, {.help = "response in the pass band; rrc: the sum of the taps", .live = true});
  v.field("symbol_rate", symbol_rate, {.help = "symbol rate of a root raised cosine", .unit = Unit::rate});
  v.field("alpha", alpha, {.help = "roll-off of a root raised cosine", .low = 0, .high = 1});
  v.field("ntaps", ntaps,
          {.help = "number of taps, made odd; 0: from transition", .low = 0, .high = static_cast<double>(kMostTaps)});
}

}  // namespace iqd::fir
