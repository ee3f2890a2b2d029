// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "daemon/plot/bins.hpp"
#include "daemon/plot/plots.hpp"

namespace iqd::plot {

/// Spectra one below the other, the newest at the bottom. Each row is a stretch of the stream's time: where samples are
/// missing it has fewer, and is dark if it has none, so the time axis holds.
class WaterfallPlot final : public Plot {
 public:
  WaterfallPlot(const Piece& first, const PlotOptions& options);
  void add(const Piece& piece) override;
  bool has_something() const override { return columns_ > 0; }
  Figure figure() override;

 private:
  void skip_missing(std::int64_t items);
  void advance(std::int64_t items);
  void end_row();
  void join_rows();
  std::vector<float> mean() const;
  Scale time_scale() const;

  PlotOptions options_;
  Bins bins_;
  std::string title_;
  double rate_hz_;
  std::int64_t row_items_ = 0;           // samples, or spectra
  std::int64_t passed_ = 0;              // of the row that is being made, with the missing ones
  std::optional<std::int64_t> next_;     // position after the last piece
  std::int64_t ended_ = 0;               // rows
  std::size_t columns_ = 0;              // 0: there is no row yet
  std::deque<std::vector<float>> rows_;  // empty: nothing came
};

}  // namespace iqd::plot
