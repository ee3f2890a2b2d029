// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "radio/soapy-modules/sim/scenarios/propagation.hpp"
#include "radio/soapy-modules/sim/scenarios/tone.hpp"

namespace iqd::sim {

/// A propagation whose second ray turns by `ray_hz`, as it does if paths change their lengths. Its power is that of the
/// mean over a turn: 1. With a `ray_hz` of 0 all rays stand still, and their own power is 1.
class MovingRays {
 public:
  /// Two rays or more, unless `ray_hz` is 0.
  MovingRays(std::span<const Ray> rays, double rate_hz, double clock_error, double ray_hz);
  /// Writes the received samples first, first + 1, ….
  void write(Transmission& from, std::int64_t first, std::span<cf32> out);

 private:
  /// The second ray.
  struct Turning {
    Propagation propagation;
    Tone turn;
    double amplitude;
    float of_others;  // their amplitude
  };

  Propagation still_;
  std::optional<Turning> turning_;
  std::vector<cf32> ray_, turn_;
};

}  // namespace iqd::sim
