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
#include "pipeline/stages/sync/symbol_sync/timing.hpp"

/// Recovers the symbols of a signal with an unknown clock: one sample at each symbol's middle.
///
/// x          [n]              cf32  after the matched filter, about `samples_per_symbol` samples a symbol
/// symbols    [symbol]         cf32  those whose instant lies in the block's new part
/// estimates  [window][value]  f32   kValues, of each hop that begins there
///
/// |x|^2 of a linear modulation has a line at the symbol rate; its phase is the timing (Oerder and Meyr, 1988). It is
/// measured over `window` symbols around each hop of half as many, and interpolated between hops along the shorter arc.
/// A symbol is where this phase passes a whole turn. So no symbol count has to be kept, and none is lost or doubled,
/// however far the clock has drifted after years, if it moves by less than half a symbol a hop.
///
/// A sample that is not finite spoils the symbols within 4 samples of it, and is left out of the measurements. Silence
/// gives symbols of 0 at the nominal rate. Keeps nothing between calls.
namespace iqd::symbol_sync {

struct Config {
  double samples_per_symbol = 4;
  std::int64_t window = 128;  // symbols

  void fields(FieldVisitor& visitor);
};

/// The part of a stream that is in memory, and its new part; positions are absolute.
struct Input {
  const cf32* x;
  std::int64_t first;
  std::int64_t end;
  std::int64_t first_new;
  std::int64_t end_new;
};
struct Output {
  cf32* symbols;
  float* estimates;  // or null
};
struct Count {
  std::int64_t symbols = 0;
  std::int64_t windows = 0;
};

class Synchronizer {
 public:
  explicit Synchronizer(const Config& config);

  const Timing& timing() const noexcept { return timing_; }
  /// exp(-j 2 pi i / samples_per_symbol) for the places i of a hop.
  const std::vector<Complex64>& line() const noexcept { return line_; }
  /// [step][tap]: the weights of the samples around an instant.
  const std::vector<float>& taps() const noexcept { return taps_; }

  std::size_t scratch_bytes(std::int64_t most_new) const noexcept;
  Count run(const Input& in, const Output& out, std::byte* scratch) const noexcept;

 private:
  Sums measure(const Input& in, std::int64_t hop) const noexcept;

  Timing timing_;
  std::vector<Complex64> line_;
  std::vector<float> taps_;
};

enum Port : std::uint8_t { kSymbols, kEstimates };

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Synchronizer& synchronizer, std::int64_t most_new);

}  // namespace iqd::symbol_sync
