// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <vector>

#include "base/convolution.hpp"

namespace iqd {

/// Microseconds of each call: by the device's own events, or the processor's clock.
struct ConvolutionTimes {
  std::vector<double> in_us;   // samples and filters to the device
  std::vector<double> run_us;  // what is there, convolved, and left there; with inputs that the caches have lost
  std::vector<double> out_us;
  double flops = 0;  // of a call
};

/// Random packets and filters of a shape, which methods are tried on. There are as many sets of them as make 128 MB, a
/// thousand at most, taken in turn.
class ConvolutionTrial {
 public:
  /// The backend outlives it. Throws SetupError where there is no memory.
  ConvolutionTrial(Backend& backend, const ConvolutionShape& shape);

  /// Checks what comes out: of every packet one bin of its Fourier transform, at a frequency drawn by lot, which any
  /// wrong sample alters; and of some packets each sample, by the definition in double precision. Then takes times for
  /// so many seconds. Throws SetupError, also where a result is wrong.
  ConvolutionTimes measure(const ConvolutionTable& table, const ConvolutionChoice& choice, double seconds);
  /// How long it takes to read and write within the device's memory what each method must read and write.
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

/// Of all that a table can do with the trial's shape: each method at its first size, or, with `method`, this one; with
/// `all_sizes`, at every one.
std::vector<ConvolutionChoice> choices_to_try(const ConvolutionTable& table, const ConvolutionShape& shape,
                                              const std::string& method, bool all_sizes);

double median(std::vector<double> values);

}  // namespace iqd
