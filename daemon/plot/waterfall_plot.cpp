// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/waterfall_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace iqd::plot {
namespace {

/// The first row only.
Piece part_of(const Piece& piece, std::int64_t begin, std::int64_t end) {
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
std::vector<float> mean_of(const std::vector<float>& a, const std::vector<float>& b, double weight) {
  const auto power = [](float db) { return std::pow(10.0, static_cast<double>(db) / 10); };
  std::vector<float> mean(a.size());
  for (std::size_t k = 0; k < mean.size(); ++k)
    mean[k] = static_cast<float>(10 * std::log10((weight * power(a[k]) + power(b[k])) / (weight + 1)));
  return mean;
}

}  // namespace

WaterfallPlot::WaterfallPlot(const Piece& first, const PlotOptions& options)
    : options_(options), bins_(first, options), title_(first.name), rate_hz_(first.rate_hz) {
  const auto wanted = static_cast<std::int64_t>(options.row_seconds * rate_hz_);
  row_items_ = options.is_whole ? bins_.transform() : std::max(bins_.transform(), wanted);
  if (bins_.transform() == 0) row_items_ = 1;  // each spectrum is a row
}

void WaterfallPlot::add(const Piece& piece) {
  if (bins_.transform() == 0) {
    bins_.add(piece);
    return advance(1);
  }
  // A stream that began again is drawn below what came before.
  if (piece.first && next_ && *piece.first > *next_) skip_missing(*piece.first - *next_);
  // A piece may hold more than a row.
  for (std::int64_t at = 0; at < piece.length();) {
    const std::int64_t more = std::min(piece.length() - at, std::max<std::int64_t>(row_items_ - passed_, 1));
    bins_.add(part_of(piece, at, at + more));
    at += more;
    advance(more);
  }
  if (piece.first) next_ = *piece.first + piece.length();
}

void WaterfallPlot::skip_missing(std::int64_t items) {
  // Rows that would scroll away at once.
  const std::int64_t unseen = std::max<std::int64_t>(items / row_items_ - options_.rows - 1, 0);
  for (items -= unseen * row_items_; items > 0;) {
    const std::int64_t more = std::min(items, row_items_ - passed_);
    items -= more;
    advance(more);
  }
  ended_ += unseen;
}

void WaterfallPlot::advance(std::int64_t items) {
  passed_ += items;
  if (passed_ >= row_items_) end_row();
}

void WaterfallPlot::end_row() {
  auto rows = bins_.take();
  // The rest of a recording is too short for a row of its own.
  if (rows.empty() && options_.is_whole) return;
  passed_ = 0;
  ++ended_;
  if (!rows.empty() && columns_ != rows[0].size()) rows_.clear(), columns_ = rows[0].size();
  if (columns_ == 0) return;
  rows_.push_back(rows.empty() ? std::vector<float>() : std::move(rows[0]));
  if (options_.is_whole && std::ssize(rows_) >= 2 * options_.rows) return join_rows();
  if (!options_.is_whole && std::ssize(rows_) > options_.rows) rows_.pop_front();
}

/// The signal is longer than expected: two rows become one.
void WaterfallPlot::join_rows() {
  std::deque<std::vector<float>> joined;
  for (std::size_t r = 0; r + 1 < rows_.size(); r += 2) joined.push_back(mean_of(rows_[r], rows_[r + 1], 1));
  rows_ = std::move(joined);
  ended_ = std::ssize(rows_);
  row_items_ *= 2;
}

/// Of the rows that have something.
std::vector<float> WaterfallPlot::mean() const {
  std::vector<float> mean;
  double weight = 0;
  for (const std::vector<float>& row : rows_) {
    if (row.empty()) continue;
    mean = mean.empty() ? row : mean_of(mean, row, weight);
    ++weight;
  }
  return mean;
}

Figure WaterfallPlot::figure() {
  Figure f{.kind = Figure::Kind::grid, .title = title_};
  if (rows_.empty()) return f;
  f.grid = {static_cast<int>(columns_), static_cast<int>(rows_.size())};
  // The newest row is at the bottom: time runs down, as one reads.
  const std::vector<float> dark(columns_, kSilenceDb);
  for (const std::vector<float>& row : rows_) {
    const std::vector<float>& shown = row.empty() ? dark : row;
    f.grid.values.insert(f.grid.values.end(), shown.begin(), shown.end());
  }
  f.x = bins_.scale(columns_);
  f.y = time_scale();
  f.colour = decibel_scale(f.grid.values, options_, bins_.unit());
  const std::vector<float> all = mean();
  if (all.empty()) return f;
  const Peak strongest = bins_.peak(all);
  f.note = joined_notes({fmt::format("strongest on average: {}, {:.1f} {}", bins_.frequency_text(strongest.bin),
                                     strongest.db, bins_.unit()),
                         bins_.note()});
  return f;
}

/// The low end is at the bottom, so it has the larger value.
Scale WaterfallPlot::time_scale() const {
  const auto first = static_cast<double>(ended_ - std::ssize(rows_)), last = static_cast<double>(ended_);
  if (bins_.transform() == 0 || rate_hz_ <= 0) return {last, first, "message"};
  const double row_s = static_cast<double>(row_items_) / rate_hz_;
  const bool is_short = options_.start_s + last * row_s < 1;
  const double unit = is_short ? 1e-3 : 1;
  return {(options_.start_s + last * row_s) / unit, (options_.start_s + first * row_s) / unit,
          is_short ? "time, ms" : "time, s"};
}

}  // namespace iqd::plot
