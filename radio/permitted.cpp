// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/permitted.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "radio/plausible.hpp"

namespace iqd::radio {
namespace {

/// A tuner's step size moves an exactly fitting band by less; no oscillator is as accurate.
constexpr double kFrequencySlack = 1e-7;
constexpr double kLevelSlack = 1e-6;

std::string text_of(const std::vector<double>& bands) {
  std::string text;
  for (std::size_t b = 0; b + 1 < bands.size(); b += 2)
    text += fmt::format("{}{} to {} MHz", b ? ", " : "", bands[b] / 1e6, bands[b + 1] / 1e6);
  return text;
}

}  // namespace

void Permitted::fields(FieldVisitor& v) {
  v.field("permitted_bands", bands_hz,
          {.help = "bands for transmission, as low and high end of each; default: no restriction",
           .unit = Unit::hertz,
           .low = 0,
           .bare_low = kLowestRadio});
  v.field("permitted_gains", gains_db,
          {.help = "highest `gain`, one for all bands or one per band", .unit = Unit::decibel});
}

void Permitted::check(const Emission& asked, const Section& section) const {
  if (!is_whole(section)) return;
  if (const auto refused = refusal(asked)) section.problem(refused->key, refused->why);
}

void Permitted::require(const std::string& name, const Emission& granted) const {
  if (const auto refused = refusal(granted))
    throw SetupError(fmt::format("{}: transmitter not switched on: {} {}", name, refused->key, refused->why));
}

/// Whether the list is consistent.
bool Permitted::is_whole(const Section& section) const {
  const std::size_t before = section.problems().size();
  if (bands_hz.size() % 2 != 0)
    section.problem("permitted_bands", "needs a low and a high end for each band, e.g. [433.05 MHz, 434.79 MHz]");
  for (std::size_t b = 0; b + 1 < bands_hz.size() && !are_enough(section.problems()); b += 2)
    if (bands_hz[b] >= bands_hz[b + 1])
      section.problem("permitted_bands",
                      fmt::format("a band must go from its low to its high end, not from {} to {} MHz",
                                  bands_hz[b] / 1e6, bands_hz[b + 1] / 1e6));
  const auto check_count = [&](const char* key, std::size_t count) {
    if (count > 1 && count != bands_hz.size() / 2)
      section.problem(
          key, fmt::format("needs one value for all bands or one for each of {}, not {}", bands_hz.size() / 2, count));
  };
  check_count("permitted_gains", gains_db.size());
  check_count("permitted_powers", powers_dbm.size());
  return section.problems().size() == before;
}

std::optional<Permitted::Refusal> Permitted::refusal(const Emission& e) const {
  if (!bands_hz.empty() && !e.frequency_hz) return Refusal{"frequency", "is required with `permitted_bands`"};
  if (!gains_db.empty() && !e.gain_db && !e.power_dbm) return Refusal{"gain", "is required with `permitted_gains`"};
  if (!powers_dbm.empty() && !e.power_dbm) return Refusal{"power", "is required with `permitted_powers`"};
  return bands_hz.empty() ? refusal_in(0, e) : refusal_in_bands(e);
}

/// If several bands contain it, one that permits it is enough.
std::optional<Permitted::Refusal> Permitted::refusal_in_bands(const Emission& e) const {
  const double slack = *e.frequency_hz * kFrequencySlack;
  const double low = *e.frequency_hz - e.width_hz / 2, high = *e.frequency_hz + e.width_hz / 2;
  Refusal refused{"frequency", fmt::format("needs {} to {} MHz, which is not in `permitted_bands`: {}", low / 1e6,
                                           high / 1e6, text_of(bands_hz))};
  for (std::size_t b = 0; b < bands_hz.size() / 2; ++b) {
    if (low < bands_hz[2 * b] - slack || high > bands_hz[2 * b + 1] + slack) continue;
    auto in_band = refusal_in(b, e);
    if (!in_band) return std::nullopt;
    refused = std::move(*in_band);
  }
  return refused;
}

std::optional<Permitted::Refusal> Permitted::refusal_in(std::size_t band, const Emission& e) const {
  const auto above = [&](const std::vector<double>& most, std::optional<double> value) -> std::optional<double> {
    if (most.empty() || !value) return std::nullopt;
    const double limit = most[std::min(band, most.size() - 1)];
    return *value > limit + kLevelSlack ? std::optional(limit) : std::nullopt;
  };
  if (const auto limit = above(gains_db, e.gain_db))
    return Refusal{"gain",
                   fmt::format("of {} dB is above the limit of {} dB in `permitted_gains`", *e.gain_db, *limit)};
  if (const auto limit = above(powers_dbm, e.power_dbm))
    return Refusal{"power",
                   fmt::format("of {} dBm is above the limit of {} dBm in `permitted_powers`", *e.power_dbm, *limit)};
  return std::nullopt;
}

}  // namespace iqd::radio
