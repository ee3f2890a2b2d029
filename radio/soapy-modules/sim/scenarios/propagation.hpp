// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "radio/soapy-modules/sim/scenarios/transmission.hpp"
#include "signal/channels/ray_channel.hpp"

namespace iqd::sim {

/// The path of a transmission to the receiver: some rays, and a transmitter clock that is `clock_error` (1e-6: 1 ppm)
/// faster than the receiver's. Sample n shows the transmission at n (1 + clock_error), to 1/64 of a sample.
class Propagation {
 public:
  Propagation(std::span<const Ray> rays, double rate_hz, double clock_error);
  /// Writes the received samples first, first + 1, ….
  void write(Transmission& from, std::int64_t first, std::span<cf32> out);

 private:
  /// y(n) = sum over i of (re[i] + j im[i]) x(n + last - i)
  struct Filter {
    std::vector<float> re, im;
    std::int64_t last = 0;
  };
  static Filter filter_of(std::span<const Ray> rays, double rate_hz);
  /// How far the transmitter is ahead at sample n, in fractions of a sample.
  std::int64_t ahead(std::int64_t n) const noexcept;
  std::int64_t same_until(std::int64_t n, std::int64_t end) const noexcept;

  double parts_per_sample_;
  std::vector<Filter> filters_;          // one for each fraction of a sample; a single one if both clocks agree
  std::int64_t behind_ = 0, ahead_ = 0;  // how far the filters reach
  std::vector<cf32> sent_;
};

}  // namespace iqd::sim
