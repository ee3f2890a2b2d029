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

/// Mutes a signal while it is weak: y(n) = x(n) · g(n).
///
/// x, y  [row][n]  cf32  each row has its own gate
/// g     [row][n]  f32   0 … 1
///
/// The gate is open at n if the mean |x|^2 of the last `window` samples is at least `threshold`, or was within the last
/// `hold` samples. g is the share of the last `ramp` samples at which it was open. A stream keeps its length: muted
/// samples are 0. A sample that is not finite counts as 0 in the mean; it is 0 if the gate is closed, else it stays not
/// finite.
///
/// At the start and after a gap the mean is over the samples that exist; before them the gate was closed. `openings`
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
  double power = 0;  // at or above it the gate opens
  std::int64_t window = 1;
  std::int64_t hold = 0;
  std::int64_t ramp = 1;

  /// How many earlier samples the gate of a sample depends on, and whether it opens there.
  std::int64_t past() const noexcept { return window - 1 + hold + ramp; }
  /// Whether the level reaches the threshold, by the energy of the window that ends with n.
  IQD_HOST_DEVICE bool loud(std::int64_t n, const Positions& there, double energy) const noexcept {
    const auto samples = static_cast<double>(there.common(n - window + 1, n + 1));
    return samples > 0 && energy >= power * samples;
  }
  IQD_HOST_DEVICE float share(std::int64_t open) const noexcept {
    return static_cast<float>(open) / static_cast<float>(ramp);
  }
};

/// 0 if the gate is closed, whatever the sample is.
IQD_HOST_DEVICE inline float gated(float x, float g) noexcept {
  return g > 0 ? x * g : 0.0f;
}

std::size_t scratch_bytes(const Gate& gate) noexcept;

/// The outputs; g is not written if it has no data. Openings are counted at first_new … end_new-1.
struct Output {
  View<cf32, 2> y;
  View<float, 2> g;
  std::int64_t first;
  std::int64_t first_new;
  std::int64_t end_new;
};
/// x begins at position `first`. Returns the number of openings.
std::int64_t run_cpu(const Gate& gate, View<const cf32, 2> x, std::int64_t first, const Output& out,
                     std::byte* scratch) noexcept;

enum Port : std::uint8_t { kSamples, kGate, kTally };

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Gate& gate, std::int64_t most_new);

}  // namespace iqd::squelch
