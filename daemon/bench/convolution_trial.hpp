// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <vector>

#include "base/convolution.hpp"

namespace iqd {

/// Microseconds of each call: by the device's events, or the CPU's clock.
struct ConvolutionTimes {
  std::vector<double> in_us;   // samples and filters to the device
  std::vector<double> run_us;  // convolution in device memory, with inputs that are no longer cached
  std::vector<double> out_us;
  double flops = 0;  // per call
};

/// Random packets and filters of a shape to try methods on. There are 128 MB of sets, a thousand at most, used in turn.
class ConvolutionTrial {
 public:
  /// The backend outlives it. Throws SetupError when out of memory.
  ConvolutionTrial(Backend& backend, const ConvolutionShape& shape);

  /// Checks the results: of every packet one bin of its Fourier transform at a random frequency, which any wrong sample
  /// changes; of some packets every sample, by the definition in double precision. Then measures for `seconds`. Throws
  /// SetupError, also if a result is wrong.
  ConvolutionTimes measure(const ConvolutionTable& table, const ConvolutionChoice& choice, double seconds);
  /// The time to read and write, within the device's memory, the bytes that every method must read and write.
  double copy_us();
  const ConvolutionShape& shape() const noexcept { return shape_; }

 private:
  struct Rows;
  class Step;
  void check(const std::string& what) const;
  void check_bin(std::int64_t packet, const std::vector<std::complex<double>>& phasors, const std::string& what) const;
  void check_samples(std::int64_t packet, const std::string& what) const;

  Backend& backend_;
  ConvolutionShape shape_;
  std::int64_t sets_;
  Buffer x_;  // the host's: [set][b][signal]
  Buffer h_;  // [set][b or 0][taps]
  Buffer g_;  // [set][b or 0][second]
  Buffer y_;  // [b][outputs]
};

/// The choices of a table for the trial's shape: each method, or only `method`, at its first size, or with `all_sizes`
/// at every size.
std::vector<ConvolutionChoice> choices_to_try(const ConvolutionTable& table, const ConvolutionShape& shape,
                                              const std::string& method, bool all_sizes);

double median(std::vector<double> values);

}  // namespace iqd
