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

/// Takes frequency offset and phase off a PSK or QAM signal: y(n) = x(n) exp(-j phi(n)).
///
/// x, y       [n]              cf32  behind the matched filter, `samples_per_symbol` samples a symbol
/// estimates  [window][value]  f32   kValues, of each hop that begins in the block's new part
///
/// M times the phase of x, weighted by |x|^2 (Viterbi and Viterbi, 1983), is free of the symbols: a line at M times the
/// offset. Its frequency and phase are searched for in a window of `window` symbols around each hop of half as many;
/// from one hop to the next the phase goes on as the frequency says, and between them on a straight line. From 3
/// samples a symbol on, those near a symbol's middle count more, by the line of |x|^2 at the symbol rate.
///
/// phi is known up to a multiple of 2 pi / M, which is the same from the start, or from a gap, on: how often M phi went
/// round is carried from block to block. A sample that is not finite stays so, and is left out of the measurements.
namespace iqd::carrier_sync {

struct Config {
  Constellation modulation = Constellation::qpsk;
  double samples_per_symbol = 1;
  std::int64_t window = 128;  // symbols
  double max_offset = 0.01;   // of the symbol rate

  void fields(FieldVisitor& visitor);
};

/// What is in memory of a stream, and the part that is to be made; positions are absolute.
struct Input {
  const cf32* x;
  std::int64_t first;
  std::int64_t end;
};
struct Output {
  cf32* y;
  std::int64_t first;
  std::int64_t end;
  std::int64_t end_new;  // the carry is left for it
  float* estimates;      // or null
};

class Synchronizer {
 public:
  explicit Synchronizer(const Config& config);

  const Search& search() const noexcept { return search_; }
  /// Of a hop's places: exp(-j 2 pi i / samples_per_symbol); empty where there are fewer than 3 of these.
  const std::vector<cf32>& line() const noexcept { return line_; }
  /// [part][bin]: exp(-j 2 pi f t), t the middle of a part of a hop.
  const std::vector<cf32>& bins() const noexcept { return bins_; }

  std::size_t scratch_bytes() const noexcept;
  /// `turns` is carried: how often M phi went round, at the beginning of the hop of the first position. Gives how many
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
