// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/bins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "daemon/plot/axis.hpp"

namespace iqd::plot {
namespace {

/// What a tone half-way between two bins loses in a Blackman-Harris window.
constexpr double kScallopingDb = 0.83;

std::vector<cf32> complex_of(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

Bins::Bins(const Piece& first, const PlotOptions& options) {
  if (first.of == Piece::Of::symbols) throw UsageError("plot: symbols have no spectrum; use --kind constellation");
  if (first.of == Piece::Of::bins) {
    axis_ = first.bins;
    return;
  }
  is_real_ = first.of == Piece::Of::values;
  const std::int64_t size = transform_size(first.length(), options.fft);
  for (std::size_t r = 0; r < first.rows(); ++r) estimators_.emplace_back(size);
  const double step = first.rate_hz > 0 ? first.rate_hz / static_cast<double>(size) : 0;
  axis_ = {is_real_ ? 0 : first.frequency_hz - step * static_cast<double>(size / 2), step, true};
}

/// A retune moves the axis.
void Bins::add(const Piece& piece) {
  if (piece.of == Piece::Of::bins) {
    axis_ = piece.bins;
    sums_.resize(std::max(sums_.size(), piece.values.size()));
    for (std::size_t r = 0; r < piece.values.size(); ++r) {
      sums_[r].resize(piece.values[r].size());
      for (std::size_t k = 0; k < sums_[r].size(); ++k)
        sums_[r][k] += std::pow(10.0, static_cast<double>(piece.values[r][k]) / 10);
    }
    ++added_;
    return;
  }
  if (!is_real_ && axis_.step_hz > 0)
    axis_.first_hz = piece.frequency_hz - axis_.step_hz * static_cast<double>(estimators_.at(0).size() / 2);
  const std::size_t rows = std::min(piece.rows(), estimators_.size());
  for (std::size_t r = 0; r < rows; ++r) estimators_[r].add(is_real_ ? complex_of(piece.values[r]) : piece.samples[r]);
  added_ += piece.length();
}

/// The upper half, with 0 Hz first.
std::vector<float> Bins::halved(std::vector<float> db) const {
  if (is_real_) db.erase(db.begin(), db.begin() + std::ssize(db) / 2);
  return db;
}

std::vector<std::vector<float>> Bins::take() {
  std::vector<std::vector<float>> all;
  for (SpectrumEstimator& e : estimators_)
    if (e.frames() > 0) all.push_back(halved(e.take()));
  for (std::vector<double>& sum : sums_) {
    std::vector<float>& db = all.emplace_back(sum.size());
    for (std::size_t k = 0; k < sum.size(); ++k)
      db[k] = static_cast<float>(10 * std::log10(std::max(sum[k] / static_cast<double>(added_), 1e-20)));
  }
  sums_.clear();
  if (!all.empty()) added_ = 0;
  return all;
}

Scale Bins::scale(std::size_t bins) const {
  const double last = static_cast<double>(bins) - 1;
  if (axis_.step_hz == 0) return {0, last, "bin"};
  const double high = axis_.first_hz + last * axis_.step_hz;
  const FrequencyUnit unit = frequency_unit(std::max(std::fabs(axis_.first_hz), std::fabs(high)));
  return {axis_.first_hz / unit.hz, high / unit.hz, "frequency, " + unit.name};
}

Peak Bins::peak(const std::vector<float>& db) const {
  const auto at = std::max_element(db.begin(), db.end(), [](float a, float b) { return a < b; });
  if (at == db.end()) return {};
  const auto bin = static_cast<double>(at - db.begin());
  const double a = at == db.begin() ? 0 : at[-1], b = at[0], c = at + 1 == db.end() ? 0 : at[1];
  const double bend = a - 2 * b + c;
  if (at == db.begin() || at + 1 == db.end() || !(bend < 0)) return {bin, b};
  const double off = std::clamp(0.5 * (a - c) / bend, -0.5, 0.5);
  const double above = estimators_.empty() ? 0 : std::min(-0.25 * (a - c) * off, kScallopingDb);
  return {bin + off, b + above};
}

std::string Bins::frequency_text(double bin) const {
  if (axis_.step_hz == 0) return fmt::format("bin {:.1f}", bin);
  return plot::frequency_text(axis_.first_hz + bin * axis_.step_hz, axis_.step_hz);
}

std::string Bins::note() const {
  if (!estimators_.empty() && axis_.step_hz > 0)
    return fmt::format("{} per bin", plot::frequency_text(axis_.step_hz, axis_.step_hz));
  if (axis_.is_offset) return "frequencies from the middle of each channel";
  return axis_.is_sure || axis_.step_hz == 0 ? "" : "frequencies by the sample rate alone";
}

std::string joined_notes(std::initializer_list<std::string> notes) {
  std::string all;
  for (const std::string& note : notes)
    if (!note.empty()) all += (all.empty() ? "" : "; ") + note;
  return all;
}

Scale decibel_scale(const std::vector<float>& db, const PlotOptions& options, const char* unit) {
  std::vector<float> sorted;
  for (const float v : db)
    if (std::isfinite(v) && v > kSilenceDb) sorted.push_back(v);
  std::ranges::sort(sorted);
  double low = -100, high = 0;
  if (!sorted.empty()) {
    low = 10 * std::floor((static_cast<double>(sorted[sorted.size() / 20]) - 4) / 10);
    high = 10 * std::ceil((static_cast<double>(sorted.back()) + 3) / 10);
  }
  low = options.low.value_or(std::max(low, high - 150));
  high = options.high.value_or(high);
  return {low, std::max(high, low + 1), unit};
}

}  // namespace iqd::plot
