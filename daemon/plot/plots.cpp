// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "daemon/plot/axis.hpp"
#include "daemon/plot/bins.hpp"
#include "daemon/plot/waterfall_plot.hpp"

namespace iqd::plot {
namespace {

std::string row_name(const std::vector<std::string>& names, std::size_t row, std::size_t rows) {
  if (rows < 2) return "";
  return row < names.size() ? names[row] : fmt::format("channel {}", row);
}

class SpectrumPlot final : public Plot {
 public:
  SpectrumPlot(const Piece& first, const PlotOptions& options)
      : options_(options), bins_(first, options), title_(first.name), names_(first.row_names) {}
  void add(const Piece& piece) override { bins_.add(piece); }
  bool has_something() const override { return !rows_.empty() || bins_.added() > 0; }
  Figure figure() override {
    if (auto rows = bins_.take(); !rows.empty()) rows_ = std::move(rows);
    Figure f{.title = title_, .filled = rows_.size() == 1};
    std::vector<float> all;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      f.curves.push_back({row_name(names_, r, rows_.size()), rows_[r]});
      all.insert(all.end(), rows_[r].begin(), rows_[r].end());
    }
    if (rows_.empty()) return f;
    f.x = bins_.scale(rows_[0].size());
    f.y = decibel_scale(all, options_, bins_.unit());
    mark_peak(f);
    return f;
  }

 private:
  void mark_peak(Figure& f) {
    std::size_t strongest = 0;
    const auto peak_of = [&](std::size_t r) { return *std::ranges::max_element(rows_[r]); };
    for (std::size_t r = 1; r < rows_.size(); ++r)
      if (peak_of(r) > peak_of(strongest)) strongest = r;
    const auto [bin, db] = bins_.peak(rows_[strongest]);
    if (db < kSilenceDb) {
      f.note = "silence";
      return;
    }
    const std::string text = fmt::format("{}, {:.1f} {}", bins_.frequency_text(bin), db, bins_.unit());
    const double share = bin / std::max(1.0, static_cast<double>(rows_[strongest].size()) - 1);
    f.marks = {{f.x.low + share * (f.x.high - f.x.low), db, text}};
    const std::string name = row_name(names_, strongest, rows_.size());
    f.note = joined_notes({fmt::format("peak {}{}{}", text, name.empty() ? "" : " in ", name), bins_.note()});
  }

  PlotOptions options_;
  Bins bins_;
  std::string title_;
  std::vector<std::string> names_;
  std::vector<std::vector<float>> rows_;
};

class ConstellationPlot final : public Plot {
 public:
  explicit ConstellationPlot(const Piece& first) : title_(first.name) {
    if (first.of != Piece::Of::symbols && first.of != Piece::Of::samples)
      throw UsageError("plot: a constellation needs complex values");
  }
  void add(const Piece& piece) override {
    for (const auto& row : piece.samples)
      for (const cf32 z : row)
        if (std::isfinite(z.real()) && std::isfinite(z.imag())) points_.push_back(z);
    if (points_.size() > kMost) points_.erase(points_.begin(), points_.end() - static_cast<std::ptrdiff_t>(kMost));
  }
  bool has_something() const override { return !points_.empty(); }
  Figure figure() override {
    Figure f{.kind = Figure::Kind::points, .title = title_};
    std::vector<float> sizes;
    double power = 0;
    for (const cf32 z : points_) {
      f.points.push_back({z.real(), z.imag()});
      sizes.push_back(std::max(std::fabs(z.real()), std::fabs(z.imag())));
      power += static_cast<double>(std::norm(z));
    }
    if (sizes.empty()) return f;
    // A few outliers do not make everything else small.
    std::ranges::sort(sizes);
    const double most = static_cast<double>(sizes[sizes.size() * 995 / 1000]) * 1.15;
    const double edge = most > 0 ? most : 1;
    f.x = {-edge, edge, "in phase, I"};
    f.y = {-edge, edge, "quadrature, Q"};
    const double mean = power / static_cast<double>(points_.size());
    f.note = fmt::format("{} points, mean power {:.1f} dB", points_.size(), 10 * std::log10(std::max(mean, 1e-20)));
    return f;
  }

 private:
  static constexpr std::size_t kMost = 1 << 16;
  std::string title_;
  std::vector<cf32> points_;
};

class TimePlot final : public Plot {
 public:
  explicit TimePlot(const Piece& first) : title_(first.name), names_(first.row_names), rate_hz_(first.rate_hz) {
    if (first.of == Piece::Of::bins) throw UsageError("plot: a spectrum has no course over time; use --kind waterfall");
  }
  void add(const Piece& piece) override {
    const bool is_complex = piece.of != Piece::Of::values;
    const std::size_t rows = is_complex ? 2 * piece.rows() : piece.rows();
    if (curves_.size() != rows) curves_.assign(rows, {});
    for (std::size_t r = 0; r < piece.rows(); ++r) {
      if (is_complex)
        for (const cf32 z : piece.samples[r])
          curves_[2 * r].push_back(z.real()), curves_[2 * r + 1].push_back(z.imag());
      else
        curves_[r].insert(curves_[r].end(), piece.values[r].begin(), piece.values[r].end());
    }
    is_complex_ = is_complex;
    for (auto& c : curves_)
      if (c.size() > kMost) c.erase(c.begin(), c.end() - static_cast<std::ptrdiff_t>(kMost));
  }
  bool has_something() const override { return !curves_.empty() && !curves_[0].empty(); }
  Figure figure() override {
    Figure f{.title = title_};
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t r = 0; r < curves_.size(); ++r) {
      f.curves.push_back(
          {is_complex_ ? (r % 2 ? "imaginary" : "real") : row_name(names_, r, curves_.size()), curves_[r]});
      for (const float v : curves_[r])
        if (std::isfinite(v))
          low = std::min(low, static_cast<double>(v)), high = std::max(high, static_cast<double>(v));
    }
    if (!has_something()) return f;
    if (!(low < high)) low = std::isfinite(low) ? low - 1 : 0, high = low + 2;
    const double last = static_cast<double>(curves_[0].size()) - 1;
    const double seconds = rate_hz_ > 0 ? last / rate_hz_ : 0;
    f.x = rate_hz_ > 0 ? Scale{0, seconds < 1 ? seconds * 1e3 : seconds, seconds < 1 ? "time, ms" : "time, s"}
                       : Scale{0, last, "item"};
    f.y = {low - 0.05 * (high - low), high + 0.05 * (high - low), "value"};
    f.note = fmt::format("{} values from {:.4g} to {:.4g}", curves_[0].size(), low, high);
    return f;
  }

 private:
  static constexpr std::size_t kMost = 1 << 16;
  std::string title_;
  std::vector<std::string> names_;
  double rate_hz_;
  bool is_complex_ = false;
  std::vector<std::vector<float>> curves_;
};

}  // namespace

std::unique_ptr<Plot> make_plot(Kind kind, const Piece& first, const PlotOptions& options) {
  switch (kind == Kind::automatic ? natural_kind(first) : kind) {
    case Kind::waterfall: return std::make_unique<WaterfallPlot>(first, options);
    case Kind::constellation: return std::make_unique<ConstellationPlot>(first);
    case Kind::time: return std::make_unique<TimePlot>(first);
    case Kind::automatic:
    case Kind::spectrum: break;
  }
  return std::make_unique<SpectrumPlot>(first, options);
}

}  // namespace iqd::plot
