// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/calibration_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "config/quantity.hpp"
#include "config/reader.hpp"

namespace iqd {
namespace {

/// The value of `key` in device arguments; empty if it is not there.
std::string argument(const std::string& args, std::string_view key) {
  std::string_view rest = args;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const std::string_view name = one.substr(0, one.find('='));
    const auto begin = name.find_first_not_of(' ');
    if (begin != name.npos && name.substr(begin) == key && name.size() < one.size())
      return std::string(one.substr(name.size() + 1));
  }
  return {};
}

/// Whether both are given and differ by more than `tolerance`.
bool differs(const std::optional<double>& a, const std::optional<double>& b, double tolerance) {
  return a && b && std::fabs(*a - *b) > tolerance;
}

std::optional<double> decibels(const std::string& text) {
  std::string why;
  return parse_quantity(text, Unit::decibel, why);
}

std::string text_of(const StringMap& gains) {
  std::string text;
  for (const auto& [element, db] : gains) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", element, db);
  return text;
}

/// In YAML's single quotes.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string list(const std::vector<double>& values, const char* form) {
  std::string text;
  for (const double v : values) text += (text.empty() ? "" : ", ") + fmt::format(fmt::runtime(form), v);
  return "[" + text + "]";
}

}  // namespace

RadioRequest setting_of(const SourceOptions& source, const StreamInfo& stream) {
  RadioRequest setting = source.radio().value_or(RadioRequest{});
  setting.rate_hz = stream.rate_hz;
  setting.frequency_hz = stream.frequency_hz;
  for (std::int64_t c = std::ssize(setting.channels); c < stream.channels; ++c) setting.channels.push_back(c);
  return setting;
}

void CalibrationTable::fields(FieldVisitor& v) {
  static bool given = false;
  v.field("date", date, {.help = "when it was measured"});
  v.field("radio", radio, {.help = "the radio's device arguments"});
  v.field("rate", rate_hz, {.help = "samples a second", .unit = Unit::rate, .low = 0, .required = true});
  v.field("frequency", frequency_hz, {.help = "centre frequency", .unit = Unit::hertz, .required = true});
  v.field("tolerance", tolerance_hz,
          {.help = "how far from that frequency the table still holds", .unit = Unit::hertz, .low = 0});
  v.field("gain_setting", gain_db, {.help = "`gain` of the source; default: any", .unit = Unit::decibel});
  v.field("gain_elements", gain_elements, {.help = "`gains` of the source; default: any"});
  v.field("antenna", antenna, {.help = "`antenna` of the source; default: any"});
  v.field("bandwidth", bandwidth_hz, {.help = "`bandwidth` of the source; default: any", .unit = Unit::hertz});
  v.field("reference", reference, {.help = "the channel that the others are compared with", .low = 0, .high = 1023});
  v.field("channels", channels, {.help = "the radio's channels", .low = 0, .high = 1023, .required = true});
  v.field("gain", gains_db,
          {.help = "of each channel relative to the reference",
           .unit = Unit::decibel,
           .low = -200,
           .high = 200,
           .required = true});
  v.field("phase", phases_deg, {.help = "of each channel, degrees ahead of the reference", .required = true});
  v.field("delay", delays_s, {.help = "of each channel behind the reference; default: none", .unit = Unit::seconds});
  v.field("coherence", coherence, {.help = "of each channel with the reference, as measured"});
  v.group("uncertainty", given, {.help = "one standard deviation of the values above"}, [this](FieldVisitor& g) {
    g.field("gain", gain_errors_db, {.help = "of each channel", .unit = Unit::decibel});
    g.field("phase", phase_errors_deg, {.help = "of each channel, degrees"});
    g.field("delay", delay_errors_s, {.help = "of each channel", .unit = Unit::seconds});
  });
}

namespace {

using Mismatch = CalibrationTable::Mismatch;

constexpr const char* kAgain = "set it back, or measure again with `iqd calibrate`";

/// The radio decides how to distribute a `gain` among its elements, so `gain` and `gains` cannot be compared.
void compare_gains(const CalibrationTable& t, const RadioRequest& s, std::vector<Mismatch>& all) {
  if (s.agc)
    all.push_back({"agc",
                   "the radio changes its gain as it goes, but the table holds for one gain: set `gain` or `gains` "
                   "instead of `agc`, or remove `calibration`"});
  if (differs(t.gain_db, s.gain_db, 0.01))
    all.push_back({"gain", fmt::format("the table was measured with a gain of {} dB, but it is {} dB: {}", *t.gain_db,
                                       *s.gain_db, kAgain)});
  if (t.gain_db && !s.gains.empty())
    all.push_back(
        {"gains", fmt::format("the table was measured with `gain: {} dB`, not with `gains`: {}", *t.gain_db, kAgain)});
  if (s.gain_db && !t.gain_elements.empty())
    all.push_back({"gain", fmt::format("the table was measured with `gains: {{{}}}`, not with `gain`: {}",
                                       text_of(t.gain_elements), kAgain)});
  for (const auto& [element, db] : t.gain_elements)
    if (const auto its = s.gains.find(element); its != s.gains.end())
      if (differs(decibels(db), decibels(its->second), 0.01))
        all.push_back({"gains", fmt::format("the table was measured with {} at {}, but it is {}: {}", element, db,
                                            its->second, kAgain)});
}

}  // namespace

std::vector<CalibrationTable::Mismatch> CalibrationTable::mismatches(const RadioRequest& s) const {
  std::vector<Mismatch> all;
  if (const auto mine = argument(radio, "serial"), its = argument(s.args, "serial"); !mine.empty() && !its.empty())
    if (mine != its)
      all.push_back({"args", fmt::format("the table is for the radio with serial {}, but this one has {}", mine, its)});
  if (std::fabs(s.rate_hz - rate_hz) > 1e-6 * rate_hz)
    all.push_back(
        {"rate", fmt::format("the table was measured at {}, but the source has {}: {}",
                             quantity_text(rate_hz, Unit::rate), quantity_text(s.rate_hz, Unit::rate), kAgain)});
  if (s.frequency_hz != 0 && std::fabs(s.frequency_hz - frequency_hz) > tolerance_hz)
    all.push_back({"frequency", fmt::format("the table was measured at {}, but the source is at {}: {}",
                                            quantity_text(frequency_hz, Unit::hertz),
                                            quantity_text(s.frequency_hz, Unit::hertz), kAgain)});
  compare_gains(*this, s, all);
  if (!antenna.empty() && !s.antenna.empty() && antenna != s.antenna)
    all.push_back({"antenna", fmt::format("the table was measured at antenna {}, but the source uses {}: {}", antenna,
                                          s.antenna, kAgain)});
  if (differs(bandwidth_hz, s.bandwidth_hz, 1))
    all.push_back({"bandwidth", fmt::format("the table was measured with a bandwidth of {}, but it is {}: {}",
                                            quantity_text(*bandwidth_hz, Unit::hertz),
                                            quantity_text(*s.bandwidth_hz, Unit::hertz), kAgain)});
  for (const std::int64_t c : s.channels)
    if (std::ranges::find(channels, c) == channels.end())
      all.push_back({"channels", fmt::format("the table has no channel {}; it has {}", c, fmt::join(channels, ", "))});
  return all;
}

std::string CalibrationTable::yaml() const {
  std::string text =
      "# Differences between the channels of a radio, measured by `iqd calibrate`. The key `calibration` of a source "
      "names this file.\n";
  text += fmt::format("date: {}\n", date);
  if (!radio.empty()) text += fmt::format("radio: {}\n", quoted(radio));
  text += fmt::format("rate: {:.17g}\nfrequency: {:.17g}\ntolerance: {:.17g}\n", rate_hz, frequency_hz, tolerance_hz);
  if (gain_db) text += fmt::format("gain_setting: {:.17g}\n", *gain_db);
  std::string elements;
  for (const auto& [element, db] : gain_elements)
    elements += fmt::format("{}{}: {}", elements.empty() ? "" : ", ", quoted(element), quoted(db));
  if (!elements.empty()) text += fmt::format("gain_elements: {{{}}}\n", elements);
  if (!antenna.empty()) text += fmt::format("antenna: {}\n", quoted(antenna));
  if (bandwidth_hz) text += fmt::format("bandwidth: {:.17g}\n", *bandwidth_hz);
  text += fmt::format("reference: {}\nchannels: [{}]\n", reference, fmt::join(channels, ", "));
  text += fmt::format("gain: {}  # dB\nphase: {}  # degrees\n", list(gains_db, "{:.5f}"), list(phases_deg, "{:.4f}"));
  if (!delays_s.empty()) text += fmt::format("delay: {}  # seconds\n", list(delays_s, "{:.6g}"));
  text += fmt::format("coherence: {}\nuncertainty:\n  gain: {}\n  phase: {}\n", list(coherence, "{:.6f}"),
                      list(gain_errors_db, "{:.2g}"), list(phase_errors_deg, "{:.2g}"));
  if (!delay_errors_s.empty()) text += fmt::format("  delay: {}\n", list(delay_errors_s, "{:.2g}"));
  return text;
}

std::optional<CalibrationTable> load_calibration(const std::string& path, Problems& problems) {
  const std::size_t before = problems.size();
  const Document document = load_document(path, problems, Readable::file);
  if (problems.size() > before) return std::nullopt;
  CalibrationTable table;
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { table.fields(v); }, problems);
  const auto check = [&](const char* key, const std::vector<double>& values, bool may_be_none) {
    if (values.size() != table.channels.size() && !(may_be_none && values.empty()))
      section.problem(key, fmt::format("has {} value(s) for {} channel(s)", values.size(), table.channels.size()));
    const auto bad = std::ranges::find_if(values, [](double v) { return !std::isfinite(v); });
    if (bad != values.end()) section.problem(key, fmt::format("{} is not a finite number", *bad));
  };
  check("gain", table.gains_db, false);
  check("phase", table.phases_deg, false);
  check("delay", table.delays_s, true);
  for (const auto& [element, db] : table.gain_elements)
    if (!decibels(db)) section.problem("gain_elements", fmt::format("{}: '{}' is not a gain, e.g. 20 dB", element, db));
  if (std::set<std::int64_t>(table.channels.begin(), table.channels.end()).size() != table.channels.size())
    section.problem("channels", "a channel is listed twice");
  if (problems.size() > before) return std::nullopt;
  return table;
}

}  // namespace iqd
