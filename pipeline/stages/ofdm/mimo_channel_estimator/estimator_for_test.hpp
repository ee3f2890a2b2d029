// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "pipeline/stages/ofdm/frames_for_test.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"
#include "tests/support/stage_under_test.hpp"

/// Runs the stage on frames of the model.
namespace iqd::mimo_channel_estimator {

using ofdm::complex;
using ofdm::index;
using ofdm::Scene;
using ofdm::Signal;

struct Results {
  std::vector<cf32> y, h;
  std::vector<float> noise, phase, level;
  std::vector<cf32> covariance;
  std::vector<float> doppler, interference;
};
inline bool same(const Results& a, const Results& b) {
  return testing::same_bits(a.y, b.y) && testing::same_bits(a.h, b.h) && testing::same_bits(a.noise, b.noise) &&
         testing::same_bits(a.phase, b.phase) && testing::same_bits(a.level, b.level) &&
         testing::same_bits(a.covariance, b.covariance) && testing::same_bits(a.doppler, b.doppler) &&
         testing::same_bits(a.interference, b.interference);
}

inline std::string keys_of(const OfdmFormat& f, const std::string& more = "") {
  return "{fft: " + std::to_string(f.fft) + ", carriers: " + std::to_string(f.carriers) +
         ", prefix: " + std::to_string(f.prefix) + ", frame: " + std::to_string(f.frame) +
         ", tx: " + std::to_string(f.tx) + ", pilot_every: " + std::to_string(f.pilot_every) +
         ", midambles: " + std::to_string(f.midambles) + (f.tail ? ", tail: true" : "") + more + "}";
}
inline PortShape carriers_of(std::int64_t symbols, std::int64_t carriers, std::int64_t rx, std::int64_t most = 8) {
  PortShape shape;
  shape.axis = Axis::counted;
  shape.axis_name = "frame";
  shape.item = {{"symbol", symbols}, {"carrier", carriers}, {"rx", rx}};
  shape.most = most;
  shape.rate_hz = 15e3 * 512;
  return shape;
}

/// The stage with all of its outputs. `more`: keys besides the format's. `soft`: LLRs of the data, `bits` of a point.
/// `sent`: the input `modulation`.
inline Results estimate(const OfdmFormat& f, std::int64_t rx, const std::vector<cf32>& carriers,
                        const std::string& more = "", bool wants_phase = true, std::vector<float> soft = {},
                        std::int64_t bits = 2, std::vector<std::uint8_t> sent = {}) {
  const auto stage = entry().make();
  Problems problems;
  const Document document = parse_document(keys_of(f, more), "test.yaml", problems);
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
  const std::int64_t symbols = f.symbols() + f.tail_symbols();
  const auto frames = std::ssize(carriers) / (symbols * f.carriers * rx);
  std::vector<PortShape> in(3, carriers_of(symbols, f.carriers, rx, frames));
  in[1].element = Element::f32;
  in[1].item.clear();
  if (!soft.empty())
    in[1].item = {{"carrier", f.data_carriers()}, {"symbol", f.data_symbols()}, {"tx", f.tx}, {"bit", bits}};
  in[2].element = Element::u8;
  in[2].item.clear();
  if (!sent.empty()) in[2].item = {{"tx", f.tx}};
  std::vector<PortShape> out(entry().outputs.size(), in[0]);
  std::vector<Footprint> footprint(in.size());
  ShapeContext context{.in = in, .out = out, .footprint = footprint, .most_new = frames, .section = section};
  stage->shape(context);
  EXPECT_TRUE(problems.empty());
  const auto backend = make_cpu_backend();
  const auto run = stage->make(*backend);
  std::vector<std::byte> scratch(context.scratch_bytes, std::byte{0xff});  // NaN
  std::vector<cf32> given = carriers;                                      // memory of its own, for AddressSanitizer
  const auto size = [&](std::size_t o) { return index(frames * out[o].item_size()); };
  Results r{.y = std::vector<cf32>(size(0)),
            .h = std::vector<cf32>(size(1)),
            .noise = std::vector<float>(size(2)),
            .phase = std::vector<float>(size(3)),
            .level = std::vector<float>(size(4)),
            .covariance = std::vector<cf32>(size(5)),
            .doppler = std::vector<float>(size(6)),
            .interference = std::vector<float>(size(7))};
  auto count = static_cast<std::int32_t>(frames);
  std::array<std::int32_t, 8> counts{-1, -1, -1, -1, -1, -1, -1, -1};
  const auto port = [&](auto& memory, std::int32_t& its_count, bool wanted = true) {
    auto* const data = reinterpret_cast<std::byte*>(memory.data());
    return PortIo{.data = wanted ? data : nullptr, .length = frames, .count = &its_count};
  };
  const PortIo from[] = {port(given, count), port(soft, count, !soft.empty()), port(sent, count, !sent.empty())};
  const PortIo to[] = {port(r.y, counts[0]),       port(r.h, counts[1]),
                       port(r.noise, counts[2]),   port(r.phase, counts[3], wants_phase),
                       port(r.level, counts[4]),   port(r.covariance, counts[5]),
                       port(r.doppler, counts[6]), port(r.interference, counts[7])};
  run->enqueue({.in = from, .out = to, .scratch = scratch.data()}, {});
  for (std::size_t o = 0; o < counts.size(); ++o) EXPECT_EQ(counts[o], out[o].axis == Axis::counted ? count : 0) << o;
  return r;
}

inline OfdmFormat five(std::int64_t tx) {
  OfdmFormat f;
  f.tx = tx;
  return f;
}

/// Mean |y - h s|^2 of an antenna, with the stage's y and h, of each vector or carrier; and mean |y|^2.
struct Residual {
  double left = 0;
  double power = 0;
};
inline Residual residual(const Signal& signal, const Results& got, std::int64_t r) {
  const std::int64_t tx = signal.format.tx, all = std::ssize(got.y) / signal.rx;
  const std::int64_t vectors = all / (std::ssize(got.h) / (signal.rx * tx));  // that share an h
  Residual sum;
  for (std::int64_t v = 0; v < all; ++v) {
    const complex y(got.y[index(v * signal.rx + r)]);
    complex expected = 0;
    for (std::int64_t a = 0; a < tx; ++a)
      expected += complex(got.h[index((v / vectors * signal.rx + r) * tx + a)]) * signal.s[index(v * tx + a)];
    sum.left += std::norm(y - expected) / static_cast<double>(all);
    sum.power += std::norm(y) / static_cast<double>(all);
  }
  return sum;
}

/// Mean |h - truth|^2 of an antenna, after removing a common scale and phase.
inline double channel_error(const Signal& signal, const Results& got, std::int64_t r) {
  complex product = 0;
  double own = 0, truth = 0;
  for (std::size_t i = 0; i < got.h.size(); ++i) {
    if (static_cast<std::int64_t>(i) / signal.format.tx % signal.rx != r) continue;
    product += std::conj(complex(got.h[i])) * signal.h[i];
    own += std::norm(complex(got.h[i]));
    truth += std::norm(signal.h[i]);
  }
  const auto count = static_cast<double>(got.h.size()) / static_cast<double>(signal.rx);
  return (truth - std::norm(product) / own) / count;
}

}  // namespace iqd::mimo_channel_estimator
