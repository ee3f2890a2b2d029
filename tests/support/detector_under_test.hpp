// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "config/reader.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/mimo/detector.hpp"

/// For the tests of MIMO detectors: random transmissions, and the stage configured by YAML, fed with them.
namespace iqd::testing {

/// Symbols by number, of power 1, from the definition of TS 38.211: (1 - 2 b0) [4 - (1 - 2 b2) [2 - (1 - 2 b4)]] …
inline std::vector<std::complex<double>> constellation(int bits) {
  if (bits == 0) return {0.0};
  std::vector<std::complex<double>> points;
  double power = 0;
  for (int q = 0; q < 1 << bits; ++q) {
    const auto axis = [&](int first) {
      double a = 0;
      for (int b = bits - 2 + first, i = 0; b >= 0; b -= 2, ++i)
        a = (1 - 2 * (q >> (bits - 1 - b) & 1)) * ((1 << i) - a);
      return a;
    };
    points.emplace_back(axis(0), axis(1));
    power += std::norm(points.back()) / (1 << bits);
  }
  for (auto& p : points) p /= std::sqrt(power);
  return points;
}

/// y = H s + w, and what was sent: y [vector][rx], h [group][rx][tx], noise [1], symbols [vector][tx]. `prior`:
/// [vector][tx][bit], or empty. `sent`: bits of each antenna's points, if not all have `bits`.
struct Transmission {
  int rx = 4, tx = 4, bits = 2;
  std::vector<cf32> y, h;
  std::vector<float> noise;
  std::vector<int> symbols;
  std::vector<float> prior = {};
  std::vector<int> sent = {};
  std::vector<std::uint8_t> port = {};  // [vector][tx]: the input `modulation`

  int bits_of(int t) const { return sent.empty() ? bits : sent[static_cast<std::size_t>(t)]; }
  std::vector<std::complex<double>> points_of(int t) const { return constellation(bits_of(t)); }
  /// By how much a column of the channel is larger in the largest alphabet's scale.
  double gain_of(int t) const {
    const auto power = [](int b) { return (std::exp2(b) - 1) / 3; };
    return bits_of(t) == 0 ? 0 : std::sqrt(power(bits) / power(bits_of(t)));
  }
  std::int64_t vectors() const { return std::ssize(y) / rx; }
  std::int64_t groups() const { return std::ssize(h) / rx / tx; }
  std::complex<double> y_at(std::int64_t v, int n) const { return y[static_cast<std::size_t>(v * rx + n)]; }
  std::complex<double> h_at(std::int64_t v, int n, int t) const {
    return h[static_cast<std::size_t>((v / (vectors() / groups()) * rx + n) * tx + t)];
  }
  double noise_at(std::int64_t v) const { return noise[static_cast<std::size_t>(v / (vectors() / std::ssize(noise)))]; }
  double prior_at(std::int64_t v, int t, int b) const {
    return prior.empty() ? 0 : mimo::usable_prior(prior[static_cast<std::size_t>((v * tx + t) * bits + b)]);
  }
  /// Of symbol number q: noise times the LLRs that it contradicts.
  double prior_cost(std::int64_t v, int t, int q) const {
    double cost = 0;
    for (int b = 0; b < bits_of(t); ++b) {
      const double llr = prior_at(v, t, b);
      cost += std::max(0.0, (q >> (bits_of(t) - 1 - b) & 1) != 0 ? llr : -llr);
    }
    return cost * noise_at(v);
  }
};

inline std::complex<double> gaussian(std::mt19937& engine) {
  std::normal_distribution<double> part(0, std::sqrt(0.5));
  const double re = part(engine);
  return {re, part(engine)};
}

/// Over Rayleigh channels of power 1; `groups` of them, or one per vector.
inline Transmission random_transmission(int rx, int tx, int bits, std::int64_t vectors, double noise,
                                        std::int64_t groups = 0, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> symbol(0, (1 << bits) - 1);
  if (groups == 0) groups = vectors;
  Transmission x{rx, tx, bits, std::vector<cf32>(static_cast<std::size_t>(vectors * rx)), {}, {}, {}};
  for (std::int64_t i = 0; i < groups * rx * tx; ++i) x.h.emplace_back(gaussian(engine));
  x.noise = {static_cast<float>(noise)};
  const auto points = constellation(bits);
  for (std::int64_t v = 0; v < vectors; ++v) {
    for (int t = 0; t < tx; ++t) x.symbols.push_back(symbol(engine));
    for (int n = 0; n < rx; ++n) {
      std::complex<double> sum = std::sqrt(noise) * gaussian(engine);
      for (int t = 0; t < tx; ++t)
        sum += x.h_at(v, n, t) * points[static_cast<std::size_t>(x.symbols[static_cast<std::size_t>(v * tx + t)])];
      x.y[static_cast<std::size_t>(v * rx + n)] = cf32(sum);
    }
  }
  return x;
}

/// The same with an alphabet of its own for each antenna.
inline Transmission mixed_transmission(int rx, const std::vector<int>& sent, std::int64_t vectors, double noise,
                                       unsigned seed = 1) {
  const auto tx = static_cast<int>(sent.size());
  Transmission x = random_transmission(rx, tx, *std::max_element(sent.begin(), sent.end()), vectors, noise, 0, seed);
  const Transmission full = x;
  x.sent = sent;
  for (std::int64_t v = 0; v < vectors; ++v)
    for (int t = 0; t < tx; ++t) {
      int& symbol = x.symbols[static_cast<std::size_t>(v * tx + t)];
      const auto before = full.points_of(t)[static_cast<std::size_t>(symbol)];
      symbol >>= x.bits - x.bits_of(t);
      const auto after = x.points_of(t)[static_cast<std::size_t>(symbol)];
      for (int n = 0; n < rx; ++n)
        x.y[static_cast<std::size_t>(v * rx + n)] += cf32(x.h_at(v, n, t) * (after - before));
    }
  return x;
}

/// As a decoder gives them: for the bits that were sent, of this strength in the mean, and some of them wrong.
inline void add_prior(Transmission& x, double strength) {
  std::mt19937 engine(7);
  std::normal_distribution<double> llr(strength, std::sqrt(2 * strength));
  for (std::size_t i = 0; i < x.symbols.size(); ++i) {
    const int bits = x.bits_of(static_cast<int>(i % static_cast<std::size_t>(x.tx)));
    for (int b = bits - 1; b >= bits - x.bits; --b) {
      const auto strong = static_cast<float>(llr(engine));
      x.prior.push_back(b >= 0 && (x.symbols[i] >> b & 1) != 0 ? -strong : strong);  // also for bits that are not there
    }
  }
}

struct Detected {
  std::vector<float> llr;  // [vector][tx][bit], also of f16 and i8
  std::vector<std::uint8_t> bits;
  std::vector<float> distance;
  std::array<std::int64_t, 2> events{};  // vectors, erased
};

class DetectorUnderTest {
 public:
  /// `yaml`: the stage's keys. `prior_bits`: of a symbol, if there is a prior. `by_port`: there is an input `modulation`.
  DetectorUnderTest(const StageEntry& entry, const std::string& yaml, int rx, int tx, int prior_bits = 0,
                    bool by_port = false)
      : stage_(entry.make()), in_(entry.inputs.size()) {
    const Document document = parse_document(yaml, "test.yaml", problems_);
    const Section section = read_fields(
        document.root, [&](FieldVisitor& v) { stage_->fields(v); }, problems_);
    for (PortShape& port : in_) {
      port.axis = Axis::counted;
      port.axis_name = "vector";
      port.most = kMost;
    }
    in_[0].item = {{"rx", rx}};
    in_[1].item = {{"rx", rx}, {"tx", tx}};
    in_[2].element = in_[3].element = Element::f32;
    if (prior_bits > 0) in_[3].item = {{"tx", tx}, {"bit", prior_bits}};
    in_[4].element = Element::u8;
    if (by_port) in_[4].item = {{"tx", tx}};
    out_.assign(entry.outputs.size(), in_[0]);
    std::vector<Footprint> footprint(in_.size());
    ShapeContext context{.in = in_, .out = out_, .footprint = footprint, .most_new = kMost, .section = section};
    stage_->shape(context);
    scratch_.resize(context.scratch_bytes);
    if (problems_.empty()) run_ = stage_->make(*backend_);
  }

  std::string complaints() const {
    std::string text;
    for (const Problem& p : problems_) text += p.text() + "\n";
    return text;
  }
  const PortShape& out(std::size_t o) const { return out_[o]; }

  /// One block, in its own memory. Without `wanted`, optional ports are left out.
  Detected run(const Transmission& x, bool wanted = true) {
    const auto vectors_of_x = static_cast<std::int32_t>(x.vectors());
    std::array<std::int32_t, 5> counts{vectors_of_x, static_cast<std::int32_t>(x.groups()),
                                       static_cast<std::int32_t>(x.noise.size()), vectors_of_x, vectors_of_x};
    Transmission copy = x;
    const auto from = [&](auto& memory, std::size_t i) {
      memory.shrink_to_fit();
      return PortIo{.data = reinterpret_cast<std::byte*>(memory.data()), .length = counts[i], .count = &counts[i]};
    };
    const std::vector<PortIo> in{from(copy.y, 0), from(copy.h, 1), from(copy.noise, 2),
                                 copy.prior.empty() ? PortIo{} : from(copy.prior, 3),
                                 copy.port.empty() ? PortIo{} : from(copy.port, 4)};
    Detected got;
    const auto vectors = static_cast<std::size_t>(x.vectors());
    const std::size_t values = vectors * static_cast<std::size_t>(x.tx * x.bits);
    std::vector<std::byte> llr(values * size_of(out_[0].element));
    got.bits.resize(wanted ? values : 0);
    got.distance.resize(wanted ? vectors : 0);
    std::array<std::int32_t, 4> made{-1, -1, -1, -1};
    const auto to = [&](auto& memory, std::size_t o) {
      return PortIo{.data = memory.empty() ? nullptr : reinterpret_cast<std::byte*>(memory.data()),
                    .length = counts[0],
                    .count = &made[o]};
    };
    const std::vector<PortIo> out{to(llr, 0), to(got.bits, 1), to(got.distance, 2), to(got.events, 3)};
    run_->enqueue({.in = in, .out = out, .scratch = scratch_.data()}, {});
    EXPECT_EQ(made, (std::array<std::int32_t, 4>{counts[0], counts[0], counts[0], 1}));
    got.llr = floats(llr, out_[0].element);
    return got;
  }

 private:
  static constexpr std::int64_t kMost = 4096;

  static std::vector<float> floats(const std::vector<std::byte>& from, Element element) {
    std::vector<float> values(from.size() / size_of(element));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (element == Element::i8) values[i] = static_cast<float>(static_cast<std::int8_t>(from[i]));
      f16 half;
      if (element == Element::f16) std::memcpy(&half, &from[2 * i], 2), values[i] = to_float(half);
      if (element == Element::f32) std::memcpy(&values[i], &from[4 * i], 4);
    }
    return values;
  }

  Problems problems_;
  std::unique_ptr<Stage> stage_;
  std::vector<PortShape> in_, out_;
  std::vector<std::byte> scratch_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<StageRun> run_;
};

}  // namespace iqd::testing
