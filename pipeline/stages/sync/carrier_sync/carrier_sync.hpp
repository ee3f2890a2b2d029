// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/sync/carrier_sync/carrier.hpp"
#include "pipeline/stages/sync/hops.hpp"

/// Removes frequency offset and phase from a PSK or QAM signal: y(n) = x(n) exp(-j phi(n)).
///
/// x, y       [n]              cf32  after the matched filter, `samples_per_symbol` samples a symbol
/// estimates  [window][value]  f32   kValues, of each hop that begins in the block's new part
///
/// M times the phase of x, weighted by |x|^2 (Viterbi and Viterbi, 1983), is free of the symbols: a line at M times the
/// offset. Its frequency and phase are searched in a window of `window` symbols around each hop of half as many. From
/// one hop to the next the phase is unwrapped by the frequency, and between hops interpolated linearly. With 3 samples
/// a symbol or more, those near a symbol's middle have more weight, by the line of |x|^2 at the symbol rate.
///
/// phi is known up to a multiple of 2 pi / M, which is constant from the start or from a gap on: the number of turns of
/// M phi is carried from block to block. A sample that is not finite stays so, and is left out of the measurements.
namespace iqd::carrier_sync {

struct Config {
  Constellation modulation = Constellation::qpsk;
  double samples_per_symbol = 1;
  std::int64_t window = 128;  // symbols
  double max_offset = 0.01;   // of the symbol rate

  void fields(FieldVisitor& visitor);
};

/// The part of a stream that is in memory, and the part to compute; positions are absolute.
struct Input {
  const cf32* x;
  std::int64_t first;
  std::int64_t end;
};
struct Output {
  cf32* y;
  std::int64_t first;
  std::int64_t end;
  std::int64_t end_new;  // the carry is set for this position
  float* estimates;      // or null
};

class Synchronizer {
 public:
  explicit Synchronizer(const Config& config);

  const Search& search() const noexcept { return search_; }
  /// exp(-j 2 pi i / samples_per_symbol) for the places i of a hop; empty with fewer than 3 samples per symbol.
  const std::vector<cf32>& line() const noexcept { return line_; }
  /// [part][bin]: exp(-j 2 pi f t), t the middle of a part of a hop.
  const std::vector<cf32>& bins() const noexcept { return bins_; }

  std::size_t scratch_bytes() const noexcept;
  /// `turns` is carried: the number of turns of M phi at the beginning of the first position's hop. Returns how many
  /// windows begin in the new part.
  std::int64_t run(const Input& in, const Output& out, std::int64_t& turns, std::byte* scratch) const noexcept;

 private:
  void measure(const Input& in, std::int64_t hop, cf32* sums, double& weight) const noexcept;
  Estimate estimate(const Input& in, const dsp::Hops& hops, std::int64_t g, std::byte* scratch) const noexcept;
  cf32 timing(const Input& in, std::int64_t begin, std::int64_t end, std::int64_t place) const noexcept;

  Search search_;
  std::vector<cf32> line_;
  std::vector<cf32> bins_;
};

enum Port : std::uint8_t { kSamples, kEstimates };

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Synchronizer& synchronizer, std::int64_t most_new);

}  // namespace iqd::carrier_sync
