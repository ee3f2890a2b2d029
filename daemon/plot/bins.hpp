// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "daemon/plot/plot_data.hpp"
#include "daemon/plot/plots.hpp"
#include "daemon/plot/spectrum_estimator.hpp"

namespace iqd::plot {

/// Where a spectrum is largest, in bins and fractions of them, and how large.
struct Peak {
  double bin = 0;
  double db = 0;
};

/// The mean spectra of pieces, in dB: computed from samples, or the mean of spectra. Knows the frequency of each bin.
class Bins {
 public:
  /// Throws UsageError if the piece has no spectrum.
  Bins(const Piece& first, const PlotOptions& options);
  void add(const Piece& piece);
  /// One for each row, and begins the next mean; empty if nothing came.
  std::vector<std::vector<float>> take();
  /// Samples, or spectra, that were added since the last call of `take`.
  std::int64_t added() const noexcept { return added_; }
  /// Samples of a transform; 0: spectra are added.
  std::int64_t transform() const noexcept { return estimators_.empty() ? 0 : estimators_[0].size(); }

  const BinAxis& axis() const noexcept { return axis_; }
  /// Of its values: a spectrum that came as such may refer to anything.
  const char* unit() const noexcept { return estimators_.empty() ? "dB" : "dBFS"; }
  /// `frequency, MHz`, from the first to the last bin.
  Scale scale(std::size_t bins) const;
  /// The strongest line, by a parabola through the largest value and its neighbours. The level is that of a tone between
  /// bins, without the window's scalloping; of a spectrum that came as such it is the largest value.
  Peak peak(const std::vector<float>& db) const;
  /// Of a fraction of bins.
  std::string frequency_text(double bin) const;
  /// Of the transform, or a note that the axis is not sure.
  std::string note() const;

 private:
  std::vector<float> halved(std::vector<float> db) const;

  BinAxis axis_;
  bool is_real_ = false;  // only frequencies from 0 Hz on
  std::vector<SpectrumEstimator> estimators_;
  std::vector<std::vector<double>> sums_;  // of spectra, in power
  std::int64_t added_ = 0;
};

/// Below this a spectrum has no power at all.
inline constexpr float kSilenceDb = -199;

/// Separated by semicolons; empty ones are left out.
std::string joined_notes(std::initializer_list<std::string> notes);

/// From the noise to the peak, rounded to tens of dB.
Scale decibel_scale(const std::vector<float>& db, const PlotOptions& options, const char* unit);

}  // namespace iqd::plot
