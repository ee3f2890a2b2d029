// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "daemon/plot/figure.hpp"
#include "daemon/plot/plot_data.hpp"

namespace iqd::plot {

struct PlotOptions {
  std::int64_t fft = 4096;    // most samples of a transform
  std::optional<double> low;  // of the scale in dB; else from the data
  std::optional<double> high;
  int rows = 200;            // of a waterfall
  bool is_whole = false;     // a waterfall shows all of the signal; else what came last
  double start_s = 0;        // when the signal begins
  double row_seconds = 0.1;  // of a waterfall without an end: how much signal makes a row
};

/// Turns pieces of a signal into a figure. The first piece decides about rates and axes. One thread.
class Plot {
 public:
  virtual ~Plot() = default;
  virtual void add(const Piece& piece) = 0;
  /// Whether something can be drawn.
  virtual bool has_something() const = 0;
  /// What was added since the last figure, or the last figure again if that is nothing. A waterfall and a constellation
  /// keep what still fits.
  virtual Figure figure() = 0;
};

/// Throws UsageError if such pieces cannot be drawn that way.
std::unique_ptr<Plot> make_plot(Kind kind, const Piece& first, const PlotOptions& options);

}  // namespace iqd::plot
