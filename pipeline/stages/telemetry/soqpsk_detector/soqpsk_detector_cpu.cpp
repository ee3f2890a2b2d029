// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "pipeline/stages/telemetry/soqpsk_detector/soqpsk_detector.hpp"

namespace iqd::soqpsk_detector {
namespace {

constexpr int kAtOnce = 4;  // interleaved chains

Symbol symbol(cf32 y) {
  return {y.real(), y.imag()};
}

class Detector {
 public:
  Detector(const Setup& setup, const cf32* symbols, const Results& to)
      : setup_(setup), pilot_{setup.pilot.data(), static_cast<int>(setup.pilot.size())}, symbols_(symbols), to_(to) {}

  template <int W> void run(std::int64_t first) const {
    Loop loops[W];
    const cf32* y[W];
    for (int c = 0; c < W; ++c) {
      y[c] = symbols_ + (first + c) * setup_.bits;
      loops[c] = telemetry::measured_loop(pilot_, [&](int k) { return symbol(y[c][k]); });
    }
    float soft[W][1 + kTile];  // [0]: of the bit before the tile
    const int bits = static_cast<int>(setup_.bits);
    for (int k = 0; k < bits; k += kTile) {
      const int n = std::min(kTile, bits - k);
      track_tile(
          loops, pilot_, setup_.gains, k, n, [&](int c, int i) { return symbol(y[c][k + i]); },
          [&](int c, int i, float value) { soft[c][1 + i] = value; });
      for (int c = 0; c < W; ++c) {
        write_tile(first + c, k, n, soft[c], loops[c]);
        soft[c][0] = soft[c][kTile];
      }
    }
    for (int c = 0; c < W; ++c)
      if (!loops[c].good()) mark_bad(first + c);
  }

 private:
  void write_tile(std::int64_t chain, int k, int n, float* soft, const Loop& loop) const {
    if (to_.soft) std::copy_n(soft + 1, n, to_.soft + chain * setup_.bits + k);
    if (k + n <= pilot_.bits) return;
    const float gain = loop.llr_gain(pilot_);
    const int begin = std::max(0, pilot_.bits - k);
    if (k + begin == pilot_.bits) soft[begin] = kBefore;
    const std::int64_t at = chain * setup_.payload() + k - pilot_.bits;
    for (int i = begin; i < n; ++i) {
      const Decision d = decide(soft[1 + i], soft[i], k + i, gain, setup_.differential);
      to_.bits[at + i] = d.bit;
      if (to_.llr) to_.llr[at + i] = d.llr;
      if (to_.whole_llr) to_.whole_llr[at + i] = whole_llr(d.llr);
    }
  }

  void mark_bad(std::int64_t chain) const {
    const std::int64_t payload = setup_.payload();
    std::fill_n(to_.bits + chain * payload, payload, std::uint8_t{0});
    if (to_.soft) std::fill_n(to_.soft + chain * setup_.bits, setup_.bits, std::numeric_limits<float>::quiet_NaN());
    if (to_.llr) std::fill_n(to_.llr + chain * payload, payload, 0.0f);
    if (to_.whole_llr) std::fill_n(to_.whole_llr + chain * payload, payload, std::int8_t{0});
  }

  const Setup& setup_;
  Pilot pilot_;
  const cf32* symbols_;
  const Results& to_;
};

}  // namespace

void run_cpu(const Setup& setup, const cf32* symbols, std::int64_t chains, const Results& results) noexcept {
  const Detector detector(setup, symbols, results);
  std::int64_t chain = 0;
  for (; chain + kAtOnce <= chains; chain += kAtOnce) detector.run<kAtOnce>(chain);
  for (; chain < chains; ++chain) detector.run<1>(chain);
}

}  // namespace iqd::soqpsk_detector
