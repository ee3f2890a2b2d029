// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "signal/filters/polyphase.hpp"

/// Resamples a signal, L outputs for M inputs: output m is the band-limited signal at input position m M / L, so there
/// is no delay.
///
/// x  [row][n]  cf32 or f32   y  [row][m]  as x
///
/// A low pass passes frequencies below `bandwidth` of half the lower rate, within 0.001 dB. It suppresses images and
/// aliases, above half the lower rate, by `attenuation`. A ratio of up to 512 phases has taps for each; else a phase's
/// taps are interpolated linearly between its neighbours in a table, which is enough for 100 dB. 1/1 is a copy.
///
/// Before the start, after the end and in gaps the input is zero. A NaN or infinity spoils only the outputs whose sum
/// includes it. The same bits however the stream is cut. Keeps nothing between calls.
namespace iqd::resampler {

struct Config {
  std::string ratio;
  std::optional<double> rate_hz;
  double attenuation_db = 90;
  double bandwidth = 0.8;

  void fields(FieldVisitor& visitor);
};

/// Parses `3/2` or `1.5`; none if it is neither.
std::optional<Ratio> ratio_of(const std::string& text);
/// The nearest ratio of whole numbers up to 2^26 to a number above 0: exact if there is one, else to 1e-8 and better.
Ratio nearest_ratio(double ratio);

PolyphaseTaps resampling_taps(const Ratio& ratio, double wanted_db, double bandwidth);

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const PolyphaseTaps& taps, Element element);

}  // namespace iqd::resampler
