// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <numeric>

#include "pipeline/stages/filters/resampler/resampler.hpp"
#include "signal/filters/filter_design.hpp"

namespace iqd::resampler {
namespace {

constexpr std::int64_t kMostTerm = 1 << 26;
/// Rows of taps. With rows a quarter of the shortest period / 512 apart, linear interpolation is off by 4e-6 of a tap.
constexpr std::int64_t kMostRows = 512;
constexpr std::int64_t kLeastRows = 32;

template <class T> bool read(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// How far J. Kaiser's formulas for length and window fall short at most, for a `bandwidth` of 0.5 or more.
constexpr double kShort = 1;  // dB

/// A low pass as a function of time, in samples of the input: sinc times a Kaiser window.
struct Prototype {
  double cutoff;     // cycles a sample
  double half_span;  // samples
  double beta;

  double operator()(double t) const {
    const double turn = 2 * std::numbers::pi * cutoff * t;
    const double sinc = std::fabs(turn) < 1e-9 ? 1 : std::sin(turn) / turn;
    const double off = t / half_span;
    return sinc * bessel_i0(beta * std::sqrt(std::fmax(0, 1 - off * off)));
  }
};

/// The taps at a phase of 0 … 1, that of the oldest input first. Their sum is 1, so that a constant keeps its value.
void append_row(const Prototype& prototype, const PolyphaseTaps& shape, double phase, std::vector<float>& to) {
  std::vector<double> row;
  for (std::int64_t j = 0; j < shape.taps; ++j)
    row.push_back(prototype(phase - static_cast<double>(shape.ahead - (shape.taps - 1) + j)));
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  for (const double h : row) to.push_back(static_cast<float>(h / sum));
}

}  // namespace

std::optional<Ratio> ratio_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos) {
    double value = 0;
    if (!read(text, value) || !(value > 0) || !std::isfinite(value)) return {};
    return nearest_ratio(value);
  }
  Ratio ratio;
  const std::string_view view = text;
  if (!read(view.substr(0, slash), ratio.up) || !read(view.substr(slash + 1), ratio.down)) return {};
  if (ratio.up < 1 || ratio.down < 1) return {};
  const std::int64_t common = std::gcd(ratio.up, ratio.down);
  ratio = {ratio.up / common, ratio.down / common};
  if (std::max(ratio.up, ratio.down) > kMostTerm) return {};
  return ratio;
}

/// By its continued fraction, as far as the terms allow.
Ratio nearest_ratio(double ratio) {
  Ratio before{0, 1}, now{1, 0};
  for (double rest = ratio; rest < 2.0 * kMostTerm;) {
    const auto whole = static_cast<std::int64_t>(rest);
    const Ratio next{whole * now.up + before.up, whole * now.down + before.down};
    if (std::max(next.up, next.down) > kMostTerm) break;
    before = now, now = next;
    const double part = rest - static_cast<double>(whole);
    if (part <= 0) break;
    rest = 1 / part;
  }
  return now;
}

PolyphaseTaps resampling_taps(const Ratio& ratio, double wanted_db, double bandwidth) {
  PolyphaseTaps taps{.ratio = ratio};
  const double attenuation_db = wanted_db + kShort;
  if (ratio.up == ratio.down) return taps.re = {1}, taps;
  const double lower = std::min(1.0, static_cast<double>(ratio.up) / static_cast<double>(ratio.down));
  const double transition = 0.5 * lower * (1 - bandwidth);
  // One sample more on each side than in the formula: phases lie between samples.
  taps.ahead = static_cast<std::int64_t>(std::ceil((attenuation_db - 7.95) / (14.36 * transition) / 2)) + 1;
  taps.taps = 2 * taps.ahead;
  taps.between = ratio.up > kMostRows;
  taps.rows = taps.between ? std::clamp(static_cast<std::int64_t>(std::ceil(lower * kMostRows)), kLeastRows, kMostRows)
                           : ratio.up;
  taps.short_from = taps.rows + 1;
  const Prototype prototype{0.5 * lower - transition / 2, static_cast<double>(taps.ahead), kaiser_beta(attenuation_db)};
  for (std::int64_t row = 0; row < taps.rows + (taps.between ? 1 : 0); ++row)
    append_row(prototype, taps, static_cast<double>(row) / static_cast<double>(taps.rows), taps.re);
  return taps;
}

}  // namespace iqd::resampler
