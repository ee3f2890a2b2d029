// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "base/error.hpp"
#include "daemon/plot/axis.hpp"
#include "daemon/plot/bins.hpp"

namespace iqd::plot {
namespace {

std::string joined_notes(std::initializer_list<std::string> notes) {
  std::string all;
  for (const std::string& note : notes)
    if (!note.empty()) all += (all.empty() ? "" : "; ") + note;
  return all;
}

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
    const double bin = peak_bin(rows_[strongest]);
    const double db = static_cast<double>(peak_of(strongest));
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

class WaterfallPlot final : public Plot {
 public:
  WaterfallPlot(const Piece& first, const PlotOptions& options)
      : options_(options), bins_(first, options), title_(first.name), rate_hz_(first.rate_hz) {
    const auto wanted = static_cast<std::int64_t>(options.row_seconds * rate_hz_);
    row_items_ = options.is_whole ? bins_.transform() : std::max(bins_.transform(), wanted);
    if (bins_.transform() == 0) row_items_ = 1;  // each spectrum is a row
  }
  void add(const Piece& piece) override {
    if (bins_.transform() == 0) {
      bins_.add(piece);
      return end_row();
    }
    // A piece may hold more than a row.
    for (std::int64_t at = 0; at < piece.length();) {
      const std::int64_t left = std::max<std::int64_t>(row_items_ - bins_.added(), 1);
      const std::int64_t more = std::min(piece.length() - at, left);
      bins_.add(part_of(piece, at, at + more));
      at += more;
      if (bins_.added() >= row_items_) end_row();
    }
  }
  bool has_something() const override { return !rows_.empty(); }
  Figure figure() override {
    Figure f{.kind = Figure::Kind::grid, .title = title_};
    if (rows_.empty()) return f;
    const std::size_t columns = rows_.back().size();
    f.grid = {static_cast<int>(columns), static_cast<int>(rows_.size())};
    // The newest row is at the bottom: time runs down, as one reads.
    for (const std::vector<float>& row : rows_) f.grid.values.insert(f.grid.values.end(), row.begin(), row.end());
    f.x = bins_.scale(columns);
    f.y = time_scale();
    f.colour = decibel_scale(f.grid.values, options_, bins_.unit());
    std::vector<float> mean = rows_.front();
    for (std::size_t r = 1; r < rows_.size(); ++r) mean = mean_of(mean, rows_[r], static_cast<double>(r));
    f.note = joined_notes({fmt::format("strongest on average: {}, {:.1f} {}", bins_.frequency_text(peak_bin(mean)),
                                       *std::ranges::max_element(mean), bins_.unit()),
                           bins_.note()});
    return f;
  }

 private:
  /// The first row only.
  static Piece part_of(const Piece& piece, std::int64_t begin, std::int64_t end) {
    const auto cut = [&](auto& to, const auto& from) {
      to.emplace_back(from.at(0).begin() + begin, from.at(0).begin() + end);
    };
    Piece part{.of = piece.of, .rate_hz = piece.rate_hz, .frequency_hz = piece.frequency_hz};
    if (piece.of == Piece::Of::values)
      cut(part.values, piece.values);
    else
      cut(part.samples, piece.samples);
    return part;
  }
  /// The mean power; `a` counts `weight` times.
  static std::vector<float> mean_of(const std::vector<float>& a, const std::vector<float>& b, double weight) {
    const auto power = [](float db) { return std::pow(10.0, static_cast<double>(db) / 10); };
    std::vector<float> mean(a.size());
    for (std::size_t k = 0; k < mean.size(); ++k)
      mean[k] = static_cast<float>(10 * std::log10((weight * power(a[k]) + power(b[k])) / (weight + 1)));
    return mean;
  }

  void end_row() {
    auto rows = bins_.take();
    if (rows.empty()) return;
    if (!rows_.empty() && rows_.back().size() != rows[0].size()) rows_.clear();
    rows_.push_back(std::move(rows[0]));
    ++ended_;
    if (options_.is_whole && std::ssize(rows_) >= 2 * options_.rows) return join_rows();
    if (!options_.is_whole && std::ssize(rows_) > options_.rows) rows_.pop_front();
  }
  /// The signal is longer than expected: two rows become one.
  void join_rows() {
    std::deque<std::vector<float>> joined;
    for (std::size_t r = 0; r + 1 < rows_.size(); r += 2) joined.push_back(mean_of(rows_[r], rows_[r + 1], 1));
    rows_ = std::move(joined);
    ended_ = std::ssize(rows_);
    row_items_ *= 2;
  }
  /// The low end is at the bottom, so it has the larger value.
  Scale time_scale() const {
    const auto first = static_cast<double>(ended_ - std::ssize(rows_)), last = static_cast<double>(ended_);
    if (bins_.transform() == 0 || rate_hz_ <= 0) return {last, first, "message"};
    const double row_s = static_cast<double>(row_items_) / rate_hz_;
    const bool is_short = options_.start_s + last * row_s < 1;
    const double unit = is_short ? 1e-3 : 1;
    return {(options_.start_s + last * row_s) / unit, (options_.start_s + first * row_s) / unit,
            is_short ? "time, ms" : "time, s"};
  }

  PlotOptions options_;
  Bins bins_;
  std::string title_;
  double rate_hz_;
  std::int64_t row_items_ = 0;  // samples, or spectra
  std::int64_t ended_ = 0;
  std::deque<std::vector<float>> rows_;
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
