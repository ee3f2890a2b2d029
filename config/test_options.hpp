// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <regex.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields.hpp"

namespace iqd {

enum class Method { automatic, direct, fft };
inline std::span<const std::string_view> enum_names(Method) {
  static constexpr std::string_view kNames[] = {"auto", "direct", "fft"};
  return kNames;
}

/// For tests: one field of every kind.
struct TestOptions {
  bool refine = true;
  std::int64_t size = 64;
  std::int64_t limit_bytes = 65536;
  double rate = 1e6;
  double wait = 250e-6;
  double scale = 1;
  std::string name = "fir";
  std::complex<double> weight{1, 0};
  std::optional<double> clip;
  std::vector<std::int64_t> channels{0};
  std::vector<double> gains;
  std::vector<std::complex<double>> taps;
  std::vector<std::string> kinds{"zf", "mmse"};
  StringMap args;
  Method method = Method::automatic;
  bool has_cma = false;
  double step = 0.05;
  std::int64_t iterations = 12;

  void fields(FieldVisitor& v) {
    constexpr double kNoEnd = std::numeric_limits<double>::infinity();
    v.field("refine", refine, {.help = "look again"});
    v.field("size", size, {.help = "length of the transform", .low = 1, .high = 65536});
    v.field("limit_bytes", limit_bytes, {.help = "", .unit = Unit::bytes, .low = 1024, .high = kNoEnd});
    v.field("rate", rate, {.help = "samples", .unit = Unit::rate, .low = 1e3, .high = 1e9, .required = true});
    v.field("wait", wait, {.help = "", .unit = Unit::seconds, .low = 0, .high = kNoEnd, .live = true});
    v.field("scale", scale, {.help = "gain | loss", .low = -kNoEnd, .high = 2});
    v.field("name", name, {.help = ""});
    v.field("weight", weight, {.help = ""});
    v.field("clip", clip, {.help = "", .low = 0, .high = kNoEnd});
    v.field("channels", channels, {.help = "", .low = 0, .high = 15});
    v.field("gains", gains, {.help = "", .unit = Unit::decibel, .low = -10, .high = 60});
    v.field("taps", taps, {.help = "impulse response"});
    v.field("kinds", kinds, {.help = ""});
    v.field("args", args, {.help = ""});
    v.field("method", method, {.help = "how"});
    v.group("cma", has_cma, {.help = "blind"}, [this](FieldVisitor& g) {
      g.field("step", step, {.help = "", .low = 0, .high = 1});
      g.field("iterations", iterations, {.help = "", .low = 1, .high = 100});
    });
  }
};

/// Whether a POSIX extended regular expression matches the text (std::regex causes warnings in GCC 12's headers).
inline bool matches(const std::string& text, const std::string& pattern) {
  regex_t compiled;
  if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
  const bool found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return found;
}

}  // namespace iqd
