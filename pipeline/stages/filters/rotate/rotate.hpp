// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/filters/rotate/turn.hpp"
#include "signal/formats/phase.hpp"

/// y(n) = x(n) exp(j (2 pi f n / fs + phase)): shifts a signal up by f Hz.
///
/// x, y  [row][n]  cf32; n counts from the start of the stream
///
/// The phase is a 64-bit integer, so it drifts by less than 2e-10 turns in 1e9 samples; y is within 4e-7 |x(n)| of the
/// exact value there. f is -fs/2 … fs/2; a larger one is taken modulo fs. y(n) depends on x(n) and n alone, to the bit.
/// NaN and infinity stay NaN or infinity. Keeps nothing between calls.
namespace iqd::rotate {

struct Config {
  double frequency = 0;
  double phase = 0;

  void fields(FieldVisitor& visitor);
};

/// exp(j phase(n)) as a product of two factors: one for each run of 512 samples, computed in double precision, and one
/// from a table for the position in the run.
class Rotator {
 public:
  static constexpr std::int64_t kRun = 512;

  Rotator(Phase step, Phase start);
  /// The exact phase of a sample.
  Phase at(std::int64_t n) const noexcept { return start_ + step_ * n; }
  /// The rotation for a GPU, which computes sines instead of using a table.
  Turn turn() const noexcept { return {step_.turns, start_.turns}; }
  /// exp(j i step), i = 0 … kRun-1, and j times that.
  const cf32* table() const noexcept { return table_.data(); }
  const cf32* table_j() const noexcept { return table_j_.data(); }

 private:
  Phase step_;
  Phase start_;
  std::vector<cf32> table_;
  std::vector<cf32> table_j_;
};

/// `first` is the position of x's and y's first sample. y may be x.
void run_cpu(const Rotator& rotator, View<const cf32, 2> x, std::int64_t first, View<cf32, 2> y) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Turn& turn);

}  // namespace iqd::rotate
