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

/// The same signal at another rate, L outputs for M inputs: output m is what the band-limited signal is at input
/// position m M / L, so nothing is delayed.
///
/// x  [row][n]  cf32 or f32   y  [row][m]  as x
///
/// A low pass lets through what is below `bandwidth` of half the lower rate, within 0.001 dB, and holds back images
/// and aliases, what is above half of it, by `attenuation`. A ratio of up to 512 phases has taps for each; else a
/// phase's taps lie on the line between those of its neighbours in a table, which is good for 100 dB. 1/1 is a copy.
///
/// Before the start, behind the end and in gaps there is zero. NaN and infinity spoil the outputs that they take part
/// in. The same bits however the stream is cut. Keeps nothing between calls.
namespace iqd::resampler {

struct Config {
  std::string ratio;
  std::optional<double> rate_hz;
  double attenuation_db = 90;
  double bandwidth = 0.8;

  void fields(FieldVisitor& visitor);
};

/// `3/2`, `1.5`; nothing where it is neither.
std::optional<Ratio> ratio_of(const std::string& text);
/// A ratio of whole numbers up to 2^26 for a number above 0: exact for rates that have one, else to 1e-8 and better.
Ratio nearest_ratio(double ratio);

PolyphaseTaps resampling_taps(const Ratio& ratio, double wanted_db, double bandwidth);

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const PolyphaseTaps& taps, Element element);

}  // namespace iqd::resampler
