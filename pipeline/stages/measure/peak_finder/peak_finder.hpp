// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"

/// Local maxima: x(i) > threshold, x(i) > x(i-1) and x(i) >= x(i+1), so that a plateau counts once, at its beginning.
/// If there are more than fit, the largest are kept (of equal ones the earlier). They are in order of position.
///
/// x      f32, reads positions begin-1 … end if they exist; searches begin … end-1 for peaks
/// peaks  its size is the maximum number of peaks: (position - begin, value)
///
/// A missing neighbour counts as minus infinity. NaN is no peak, and neither is a sample next to it; plus infinity is
/// one. Positions are exact up to 2^24. Depends on how a stream is cut, since positions count from `begin`. Keeps
/// nothing between calls.
namespace iqd::peak_finder {

struct Config {
  std::optional<double> threshold;
  std::int64_t max = 16;

  void fields(FieldVisitor& visitor);
};

struct Peak {
  float position;
  float value;
  friend bool operator==(const Peak&, const Peak&) = default;
};

/// Returns the number of peaks.
std::int64_t run_cpu(View<const float, 1> x, std::int64_t begin, std::int64_t end, float threshold,
                     std::span<Peak> peaks) noexcept;

struct CudaSetup {
  float threshold = 0;
  std::int64_t max = 16;
  std::int64_t rows = 1;
  bool bins = false;    // one row of bins per block, else a stream
  bool padded = false;  // always `max` peaks; unused ones are NaN
};

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const CudaSetup& setup);

}  // namespace iqd::peak_finder
