// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/plot/plot_data.hpp"
#include "daemon/plot/plots.hpp"
#include "daemon/plot/spectrum_estimator.hpp"

namespace iqd::plot {

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

/// The bin of the largest value, with the fraction that a parabola through its neighbours gives.
double peak_bin(const std::vector<float>& db);
/// From the noise to the peak, rounded to tens of dB.
Scale decibel_scale(const std::vector<float>& db, const PlotOptions& options, const char* unit);

}  // namespace iqd::plot
