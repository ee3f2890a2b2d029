// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "signal/filters/fft_plan.hpp"
#include "signal/filters/windows.hpp"

namespace iqd {

/// A Blackman-Harris window, scaled so that a transform's squared bins add up to the mean power of its samples.
struct WelchWindow {
  std::vector<float> values;
  double peak;  // share of a tone's power in its highest bin
};
inline WelchWindow welch_window(std::int64_t size) {
  WelchWindow window;
  double sum = 0, squares = 0;
  const std::vector<double> w = make_window(Window::blackman_harris, size);
  for (const double v : w) {
    sum += v;
    squares += v * v;
  }
  const double scale = 1 / std::sqrt(static_cast<double>(size) * squares);
  for (const double v : w) window.values.push_back(static_cast<float>(v * scale));
  window.peak = sum * sum * scale * scale;
  return window;
}
/// Number of frames of a block, overlapping by half; at most `most` of them unless that is 0.
constexpr std::int64_t welch_frames(std::int64_t samples, std::int64_t size, std::int64_t most) noexcept {
  const std::int64_t there = samples < size ? 0 : (samples - size) / (size / 2) + 1;
  return most > 0 && most < there ? most : there;
}

/// A spectrum for measuring the power of bands, by P. D. Welch's method: mean squares of transforms of frames that
/// overlap by half, with a Blackman-Harris window, whose side lobes are 92 dB down. All bins add up to the mean power.
///
/// Built once; may be used by many threads, each with its own scratch.
class WelchSpectrum {
 public:
  /// Bins on each side over which the window spreads a tone.
  static constexpr double kMainLobe = 4;

  /// `size` is 2 or more. Throws SetupError if there is not enough memory.
  explicit WelchSpectrum(std::int64_t size);
  std::int64_t size() const noexcept { return plan_.size(); }
  double peak() const noexcept { return window_.peak; }
  static std::size_t scratch_bytes(std::int64_t size) noexcept;

  /// Writes power(k), with 0 Hz in bin size/2 (rounded down), of the first `frames` frames of x, or of all complete
  /// frames if `frames` is 0. Returns the number of frames; with none it writes nothing.
  std::int64_t run(std::span<const cf32> x, std::int64_t frames, std::span<double> power,
                   std::byte* scratch) const noexcept;

 private:
  WelchWindow window_;
  FftPlan plan_;
};

/// A part of a spectrum, as fractions of the sample rate: -0.5 … 0.5.
struct Band {
  double low = 0;
  double high = 0;
};

/// The bins begin … end-1 that overlap the band, and the share of bin k in it.
struct BandOfBins {
  IQD_HOST_DEVICE BandOfBins(Band band, std::int64_t size) noexcept
      : low(place_of(band.low, size)),
        high(place_of(band.high, size)),
        begin(static_cast<std::int64_t>(low)),
        end(static_cast<std::int64_t>(ceil(high))) {}
  IQD_HOST_DEVICE double share(std::int64_t k) const noexcept {
    return fmin(high, static_cast<double>(k + 1)) - fmax(low, static_cast<double>(k));
  }
  double low, high;
  std::int64_t begin, end;

 private:
  IQD_HOST_DEVICE static double place_of(double frequency, std::int64_t size) noexcept {
    const double n = static_cast<double>(size);
    return fmin(fmax(static_cast<double>(size / 2) + 0.5 + frequency * n, 0), n);
  }
};
/// The power within a band. Bins reach half a bin to both sides; those at the band's edges count in part.
double power_within(Band band, std::span<const double> power) noexcept;

}  // namespace iqd
