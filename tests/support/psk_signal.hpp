// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <map>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "pipeline/stage_runner.hpp"

/// For the tests of synchronisers: a PSK signal with all impairments, and a stage that is fed with it in blocks.
namespace iqd::testing {

/// A root raised cosine of energy 1, t in symbols.
inline double root_raised_cosine(double t, double rolloff) {
  const double pi = std::numbers::pi, edge = 4 * rolloff * t;
  if (std::fabs(t) < 1e-9) return 1 - rolloff + 4 * rolloff / pi;
  if (std::fabs(std::fabs(edge) - 1) < 1e-7)
    return rolloff / std::sqrt(2.0) *
           ((1 + 2 / pi) * std::sin(pi / 4 / rolloff) + (1 - 2 / pi) * std::cos(pi / 4 / rolloff));
  return (std::sin(pi * t * (1 - rolloff)) + edge * std::cos(pi * t * (1 + rolloff))) / (pi * t * (1 - edge * edge));
}

struct PskSignal {
  int order = 4;
  double first_turns = 0.125;  // phase of point 0
  double samples_per_symbol = 4;
  double timing = 0.3;    // of symbol 0, in symbols
  double clock = 100e-6;  // relative error of the sender's symbol rate
  double offset = 1e-3;   // cycles a sample
  double phase = 0.7;
  double snr_db = 15;  // Es / N0
  double rolloff = 0.35;
  std::int64_t count = 4000;
  unsigned seed = 1;

  /// The point of each symbol, by its angle.
  std::vector<int> points() const {
    std::mt19937 engine(seed);
    std::vector<int> all(static_cast<std::size_t>(count));
    for (int& p : all) p = static_cast<int>(engine() % static_cast<unsigned>(order));
    return all;
  }
  std::complex<double> at(int point) const {
    return std::polar(1.0, 2 * std::numbers::pi * (first_turns + static_cast<double>(point) / order));
  }

  /// The signal after the receiver's matched filter: mean symbol energy 1, noise 10^(-snr_db / 10) at their centres.
  std::vector<cf32> samples() const {
    constexpr int kSpan = 10;
    const std::vector<int> sent = points();
    const auto length = static_cast<std::int64_t>(static_cast<double>(count) * samples_per_symbol / (1 + clock));
    std::vector<std::complex<double>> received(static_cast<std::size_t>(length));
    std::mt19937 engine(seed + 1);
    std::normal_distribution<double> part(0, std::sqrt(std::pow(10, -snr_db / 10) * samples_per_symbol / 2));
    for (std::int64_t n = 0; n < length; ++n) {
      const double t = static_cast<double>(n) / samples_per_symbol * (1 + clock) - timing;
      std::complex<double> x;
      for (auto k = static_cast<std::int64_t>(std::ceil(t)) - kSpan; k <= static_cast<std::int64_t>(t) + kSpan; ++k)
        if (k >= 0 && k < count)
          x += at(sent[static_cast<std::size_t>(k)]) * root_raised_cosine(t - static_cast<double>(k), rolloff);
      x *= std::polar(1.0, 2 * std::numbers::pi * offset * static_cast<double>(n) + phase);
      received[static_cast<std::size_t>(n)] = x + std::complex<double>(part(engine), part(engine));
    }
    const auto reach = static_cast<std::int64_t>(kSpan * samples_per_symbol);
    std::vector<double> taps;
    for (std::int64_t i = -reach; i <= reach; ++i)
      taps.push_back(root_raised_cosine(static_cast<double>(i) / samples_per_symbol, rolloff) / samples_per_symbol);
    std::vector<cf32> filtered(received.size());
    for (std::int64_t n = 0; n < length; ++n) {
      std::complex<double> y;
      for (std::int64_t i = std::max(-reach, n - length + 1); i <= std::min(reach, n); ++i)
        y += taps[static_cast<std::size_t>(i + reach)] * received[static_cast<std::size_t>(n - i)];
      filtered[static_cast<std::size_t>(n)] = cf32(y);
    }
    return filtered;
  }

  /// The nearest point to a symbol.
  int decide(cf32 y) const {
    const double turns = std::arg(std::complex<double>(y)) / (2 * std::numbers::pi) - first_turns;
    const auto point = static_cast<int>(std::lround(turns * order)) % order;
    return point < 0 ? point + order : point;
  }
};

/// Alignment of received to sent symbols: received(i) is sent(i + lag), rotated by `turn` points.
struct Alignment {
  std::int64_t lag = 0;
  int turn = 0;
  std::int64_t errors = 0;      // symbols, of those compared
  std::int64_t bit_errors = 0;  // Gray: neighbours differ in one bit
  std::int64_t compared = 0;
};
/// The best of the lags up to `search`; `skip` symbols at both ends are left out. One lag and one turn for all.
inline Alignment align(const PskSignal& signal, const std::vector<cf32>& received, std::int64_t skip = 200,
                       std::int64_t search = 12) {
  const std::vector<int> sent = signal.points();
  std::vector<int> decided;
  for (const cf32 y : received) decided.push_back(signal.decide(y));
  Alignment best;
  best.errors = std::ssize(received) + 1;
  for (std::int64_t lag = -search; lag <= search; ++lag)
    for (int turn = 0; turn < signal.order; ++turn) {
      Alignment a{lag, turn};
      for (std::int64_t i = skip; i < std::ssize(received) - skip; ++i) {
        if (i + lag < 0 || i + lag >= std::ssize(sent)) continue;
        const int step =
            (decided[static_cast<std::size_t>(i)] - sent[static_cast<std::size_t>(i + lag)] + turn + 2 * signal.order) %
            signal.order;
        const unsigned gray = static_cast<unsigned>(std::min(step, signal.order - step));
        a.errors += step != 0 ? 1 : 0;
        a.bit_errors += gray;  // if only neighbours, or QPSK's opposite points, are confused
        ++a.compared;
      }
      if (a.errors < best.errors) best = a;
    }
  return best;
}

/// All outputs of a stage that is fed with a stream in blocks.
struct StageOutputs {
  std::map<std::string, StageOutput> ports;
  Problems problems;

  template <class T> std::vector<T> of(const std::string& port) const {
    const std::vector<std::byte> bytes = ports.at(port).joined();
    std::vector<T> all(bytes.size() / sizeof(T));
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }
  std::string complaints() const {
    std::string text;
    for (const Problem& p : problems) text += p.text() + "\n";
    return text;
  }
};
inline StageOutputs run_stage(const StageEntry& entry, const std::string& keys, const std::vector<cf32>& x,
                              std::int64_t block = 0, std::int64_t rows = 1, Axis axis = Axis::stream) {
  StageInput in;
  in.shape.element = Element::cf32;
  in.shape.rate_hz = in.shape.source_rate_hz = 1e6;
  in.shape.axis = axis;
  if (axis == Axis::counted) in.shape.axis_name = "symbol";
  if (rows > 1) in.shape.rows = {{"channel", rows}};
  in.length = std::ssize(x) / rows;
  in.data.resize(x.size() * sizeof(cf32));
  if (!x.empty()) std::memcpy(in.data.data(), x.data(), in.data.size());
  std::vector<StageInput> inputs;
  inputs.push_back(std::move(in));
  StageOutputs outputs;
  StageRunner runner(entry, keys, std::move(inputs), block, "cpu", outputs.problems);
  if (outputs.problems.empty())
    for (StageOutput& out : runner.run()) outputs.ports[out.name] = std::move(out);
  return outputs;
}

}  // namespace iqd::testing
