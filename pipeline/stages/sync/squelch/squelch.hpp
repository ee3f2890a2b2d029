// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/moving_sum.hpp"
#include "pipeline/stages/sync/power.hpp"

/// Silences a signal while it is weak: y(n) = x(n) · g(n).
///
/// x, y  [row][n]  cf32  each row has a gate of its own
/// g     [row][n]  f32   0 … 1
///
/// It is open at n where the mean |x|^2 of the last `window` samples is `threshold` or more there, or was within the
/// last `hold` samples; g is the share of the last `ramp` samples at which it was open. A stream keeps its length: what
/// is shut out is 0. A sample that is not finite counts as 0, and is 0 where the gate is shut, else what it is.
///
/// At the start and after a gap the mean is over the samples that there are, and before them it was shut. `openings`
/// are counted. Keeps nothing between calls.
namespace iqd::squelch {

inline constexpr std::string_view kEvents[] = {"openings"};

struct Config {
  double threshold = -40;  // dB
  std::int64_t window = 256;
  std::int64_t hold = 1024;
  std::int64_t ramp = 64;

  void fields(FieldVisitor& visitor);
};

struct Gate {
  double power = 0;  // from which on it is open
  std::int64_t window = 1;
  std::int64_t hold = 0;
  std::int64_t ramp = 1;

  /// Samples before one that its gate depends on, or whether it opens there.
  std::int64_t past() const noexcept { return window - 1 + hold + ramp; }
  /// Whether the level is there, by the energy of the window that ends with n.
  IQD_HOST_DEVICE bool loud(std::int64_t n, const dsp::Range& there, double energy) const noexcept {
    const auto samples = static_cast<double>(there.common(n - window + 1, n + 1));
    return samples > 0 && energy >= power * samples;
  }
  IQD_HOST_DEVICE float share(std::int64_t open) const noexcept {
    return static_cast<float>(open) / static_cast<float>(ramp);
  }
};

/// 0 where it is shut, whatever the sample is.
IQD_HOST_DEVICE inline float gated(float x, float g) noexcept {
  return g > 0 ? x * g : 0.0f;
}

std::size_t scratch_bytes(const Gate& gate) noexcept;

/// What is made: of g nothing where it has no data. Openings are counted at first_new … end_new-1.
struct Output {
  View<cf32, 2> y;
  View<float, 2> g;
  std::int64_t first;
  std::int64_t first_new;
  std::int64_t end_new;
};
/// x begins at position `first`. Gives how many openings there were.
std::int64_t run_cpu(const Gate& gate, View<const cf32, 2> x, std::int64_t first, const Output& out,
                     std::byte* scratch) noexcept;

enum Port : std::uint8_t { kSamples, kGate, kTally };

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Gate& gate, std::int64_t most_new);

}  // namespace iqd::squelch
