// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>

namespace iqd {
namespace {

/// A way to write a unit of `factor` · 10^`exponent` base units.
struct Suffix {
  std::string_view name;
  int exponent = 0;
  double factor = 1;
  bool shown = true;  // in messages; others are only accepted
};

constexpr Suffix kHertz[] = {{"Hz"}, {"kHz", 3}, {"MHz", 6}, {"GHz", 9}};
constexpr Suffix kRate[] = {{"S/s"},
                            {"kS/s", 3},
                            {"MS/s", 6},
                            {"GS/s", 9},
                            {"Sps", 0, 1, false},
                            {"kSps", 3, 1, false},
                            {"MSps", 6, 1, false},
                            {"GSps", 9, 1, false},
                            {"Hz", 0, 1, false},
                            {"kHz", 3, 1, false},
                            {"MHz", 6, 1, false},
                            {"GHz", 9, 1, false}};
constexpr Suffix kSeconds[] = {{"s"},      {"ms", -3},           {"us", -6}, {"µs", -6, 1, false}, {"μs", -6, 1, false},
                               {"ns", -9}, {"min", 0, 60, false}};
constexpr Suffix kDecibel[] = {{"dB"}};
constexpr Suffix kBytes[] = {{"B"},     {"KiB", 0, 1024}, {"MiB", 0, 1048576}, {"GiB", 0, 1073741824}, {"kB", 3},
                             {"MB", 6}, {"GB", 9}};

std::span<const Suffix> suffixes(Unit unit) {
  switch (unit) {
    case Unit::none: break;
    case Unit::hertz: return kHertz;
    case Unit::rate: return kRate;
    case Unit::seconds: return kSeconds;
    case Unit::decibel: return kDecibel;
    case Unit::bytes: return kBytes;
  }
  return {};
}

std::string_view trimmed(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Length of the decimal number that `s` begins with: sign, digits, point, exponent. `1e` counts as `1`.
std::size_t number_length(std::string_view s) {
  std::size_t at = !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
  std::size_t digits = 0;
  for (; at < s.size() && is_digit(s[at]); ++at) ++digits;
  if (at < s.size() && s[at] == '.')
    for (++at; at < s.size() && is_digit(s[at]); ++at) ++digits;
  if (digits == 0) return 0;
  if (at + 1 >= s.size() || (s[at] != 'e' && s[at] != 'E')) return at;
  std::size_t end = at + (s[at + 1] == '-' || s[at + 1] == '+' ? 2 : 1);
  if (end >= s.size() || !is_digit(s[end])) return at;
  while (end < s.size() && is_digit(s[end])) ++end;
  return end;
}

std::optional<double> to_double(std::string_view s) {
  if (!s.empty() && s.front() == '+') s.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  const bool whole = end == s.data() + s.size();
  if (!whole || error == std::errc::invalid_argument) return std::nullopt;
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// `number` · 10^`exponent`, rounded once.
std::optional<double> scaled(std::string_view number, int exponent) {
  const std::size_t e = number.find_first_of("eE");
  if (e != std::string_view::npos) {
    int own = 0;
    std::string_view digits = number.substr(e + 1);
    if (digits.front() == '+') digits.remove_prefix(1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), own).ec != std::errc() || std::abs(own) > 10000)
      return std::nullopt;
    exponent += own;
  }
  return to_double(fmt::format("{}e{}", number.substr(0, e), exponent));
}

/// `0x1f` and `0b1101`.
std::optional<std::int64_t> bit_pattern(std::string_view s) {
  const bool negative = !s.empty() && s.front() == '-';
  if (negative) s.remove_prefix(1);
  if (s.size() < 3 || s[0] != '0' || s[2] == '-') return std::nullopt;
  const bool hexadecimal = s[1] == 'x' || s[1] == 'X';
  if (!hexadecimal && s[1] != 'b' && s[1] != 'B') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(s.data() + 2, s.data() + s.size(), value, hexadecimal ? 16 : 2);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return negative ? -value : value;
}

bool is_special(std::string_view s) {
  std::string word(s);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::erase_if(word, [](char c) { return c == '.' || c == '+' || c == '-'; });
  return word == "inf" || word == "nan" || word == "infinity";
}

std::string number_text(double value) {
  // Avoids 1e+06 for an integer, and 0.10000000000000001 after a change of prefix.
  const bool plain = value == std::trunc(value) && std::abs(value) < 1e15;
  return plain ? fmt::format("{:.0f}", value == 0 ? 0.0 : value) : fmt::format("{:.15g}", value);
}

}  // namespace

std::string rate_text(double hz) {
  if (hz >= 1e6) return fmt::format("{:.3f} MS/s", hz / 1e6);
  if (hz >= 1e3) return fmt::format("{:.3f} kS/s", hz / 1e3);
  return fmt::format("{:.3g} S/s", hz);
}

std::string_view base_unit(Unit unit) {
  const auto list = suffixes(unit);
  return list.empty() ? std::string_view() : list.front().name;
}

std::string unit_choice(Unit unit) {
  std::vector<std::string_view> names;
  for (const Suffix& s : suffixes(unit))
    if (s.shown) names.push_back(s.name);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string quantity_pattern(Unit unit) {
  std::string names;
  for (const Suffix& s : suffixes(unit)) names += (names.empty() ? "" : "|") + std::string(s.name);
  const std::string number = R"([-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?)";
  return "^" + number + (names.empty() ? "" : " ?(" + names + ")?") + "$";
}

std::optional<double> parse_quantity(std::string_view text, Unit unit, std::string& why) {
  text = trimmed(text);
  if (const auto bits = bit_pattern(text)) return static_cast<double>(*bits);
  const std::size_t n = number_length(text);
  if (n == 0) {
    why =
        is_special(text) ? fmt::format("'{}' is not a finite number", text) : fmt::format("'{}' is not a number", text);
    return std::nullopt;
  }
  const std::string_view name = trimmed(text.substr(n));
  const auto list = suffixes(unit);
  const auto suffix = std::find_if(list.begin(), list.end(), [&](const Suffix& s) { return s.name == name; });
  if (!name.empty() && suffix == list.end()) {
    const std::string right = list.empty() ? "this is a plain number" : "use " + unit_choice(unit);
    why = fmt::format("unit '{}' does not fit; {}", name, right);
    return std::nullopt;
  }
  const Suffix meant = name.empty() ? Suffix{} : *suffix;
  const auto value = scaled(text.substr(0, n), meant.exponent);
  if (value && std::isfinite(*value * meant.factor)) return *value * meant.factor;
  why = fmt::format("'{}' is out of range", text);
  return std::nullopt;
}

std::optional<std::int64_t> parse_whole(std::string_view text, Unit unit, std::string& why) {
  text = trimmed(text);
  if (const auto bits = bit_pattern(text)) return bits;
  std::int64_t exact = 0;
  const std::string_view digits = !text.empty() && text.front() == '+' ? text.substr(1) : text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exact);
  if (error == std::errc() && end == digits.data() + digits.size()) return exact;
  const auto value = parse_quantity(text, unit, why);
  if (!value) return std::nullopt;
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  if (*value != std::trunc(*value)) {
    why = fmt::format("{} is not a whole number", text);
  } else if (*value >= kBeyond || *value < -kBeyond) {
    why = fmt::format("{} does not fit into 64 bits", text);
  } else {
    return static_cast<std::int64_t>(*value);
  }
  return std::nullopt;
}

std::optional<std::complex<double>> parse_complex(std::string_view text) {
  text = trimmed(text);
  const bool imaginary_end = !text.empty() && (text.back() == 'j' || text.back() == 'i');
  if (!imaginary_end) {
    const auto re = number_length(text) == text.size() ? to_double(text) : std::nullopt;
    return re ? std::optional<std::complex<double>>(*re) : std::nullopt;
  }
  text.remove_suffix(1);
  const auto imaginary = [](std::string_view s) -> std::optional<double> {
    if (s.empty() || s == "+") return 1.0;
    if (s == "-") return -1.0;
    return number_length(s) == s.size() ? to_double(s) : std::nullopt;
  };
  const std::size_t n = number_length(text);
  if (n == text.size() || n == 0) {
    const auto im = imaginary(text);
    return im ? std::optional<std::complex<double>>({0, *im}) : std::nullopt;
  }
  std::string rest(trimmed(text.substr(n)));
  std::erase(rest, ' ');
  if (rest.front() != '+' && rest.front() != '-') return std::nullopt;
  const auto re = to_double(text.substr(0, n));
  const auto im = imaginary(rest);
  return re && im ? std::optional<std::complex<double>>({*re, *im}) : std::nullopt;
}

bool has_unit(std::string_view text) {
  text = trimmed(text);
  return !bit_pattern(text) && number_length(text) < text.size();
}

std::string quantity_text(double value, Unit unit) {
  const auto list = suffixes(unit);
  if (list.empty() || value == 0 || !std::isfinite(value)) return number_text(value);
  const auto size_of_one = [](const Suffix& s) { return s.factor * std::pow(10.0, s.exponent); };
  const Suffix* best = nullptr;  // the largest prefix that leaves a number of at least 1
  const Suffix* least = &list.front();
  for (const Suffix& s : list) {
    if (!s.shown || (unit == Unit::bytes && s.exponent > 0)) continue;
    const double n = std::abs(value) / size_of_one(s);
    const bool good = unit == Unit::bytes ? n == std::trunc(n) : n >= 1;
    if (good && (best == nullptr || size_of_one(s) > size_of_one(*best))) best = &s;
    if (size_of_one(s) < size_of_one(*least)) least = &s;
  }
  if (best == nullptr) best = least;
  // 10^6 is exact as a double, 10^-6 is not: 250 us must not become 249.99999999999997.
  const double factor = best->factor * std::pow(10.0, std::abs(best->exponent));
  return number_text(best->exponent < 0 ? value * factor : value / factor) + " " + std::string(best->name);
}

}  // namespace iqd
