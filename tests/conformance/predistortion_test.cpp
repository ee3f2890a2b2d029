// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Successful and refused trainings of a predistorter: CUDA against the CPU. Training always refuses noise, which the
// other tests feed.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "pipeline/stages/transmit/aph_estimator/residual.hpp"
#include "signal/transmit/transmitter.hpp"
#include "signal/transmit/uplink_waveform.hpp"
#include "tests/conformance/one_stage.hpp"

namespace iqd::conformance {
namespace {

using Samples = std::vector<cf32>;
using aph_estimator::Complex64;

constexpr double kRate = 61.44e6;
constexpr std::int64_t kBlock = 16384;

Samples waveform() {
  Samples x = UplinkWaveform{.subcarriers = 150}.make();
  x.resize(2 * kBlock);
  return x;
}

/// What a receiver gets from the transmitter.
Samples heard(const Samples& x, double delay) {
  Transmitter::Options options = Transmitter::impaired();
  options.delay = delay;
  options.noise = 0.27e-3;
  const Transmitter transmitter(options);
  Samples padded(static_cast<std::size_t>(transmitter.past()));
  padded.insert(padded.end(), x.begin(), x.end());
  padded.resize(padded.size() + static_cast<std::size_t>(transmitter.future()));
  Samples y(x.size());
  transmitter.run(padded.data() + transmitter.past(), 0, y);
  return y;
}

/// How much the outputs for two sets of coefficients differ, relative to the output.
double difference(const AphOrders& orders, const Samples& x, const cf32* a, const cf32* b) {
  const std::vector<Complex64> u(x.begin(), x.end());
  double error = 0, energy = 0;
  for (std::size_t n = 16; n < u.size(); ++n) {
    const Complex64 one = unexplained(orders, 0, &u[n], a), other = unexplained(orders, 0, &u[n], b);
    error += power_of(one - other);
    energy += power_of(one);
  }
  return error / energy;
}

void expect_alike(const std::string& keys, const AphOrders& orders, const Samples& sent, const Samples& received,
                  std::size_t trainings) {
  const std::vector<StageInput> inputs{input_of(sent, kRate), input_of(received, kRate)};
  Ports cpu = run("aph_estimator", keys, inputs, "cpu", kBlock);
  Ports cuda = run("aph_estimator", keys, inputs, "cuda", kBlock);
  EXPECT_EQ(cpu.at("events").joined(), cuda.at("events").joined()) << keys;
  const auto h = values<cf32>(cpu.at("coefficients")), other = values<cf32>(cuda.at("coefficients"));
  const auto count = static_cast<std::size_t>(orders.coefficients());
  ASSERT_EQ(h.size(), trainings * count) << keys;
  ASSERT_EQ(other.size(), h.size()) << keys;
  for (std::size_t t = 0; t < trainings; ++t)
    EXPECT_LT(difference(orders, sent, &h[t * count], &other[t * count]), 1e-8) << keys;
  const auto report = values<float>(cpu.at("report")), other_report = values<float>(cuda.at("report"));
  ASSERT_EQ(report.size(), other_report.size());
  for (std::size_t v = 0; v < report.size(); ++v) {
    if (std::isnan(report[v]) && std::isnan(other_report[v])) continue;
    EXPECT_NEAR(report[v], other_report[v], 0.05) << keys << " value " << v;
  }
}

TEST(PredistortionOnCuda, TrainingsAreAlike) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO TRAININGS WERE TESTED ON CUDA: " << why;
  const Samples x = waveform();
  const std::string aclr = "aclr: {bandwidth: 9 MHz, spacing: 10 MHz, size: 512}";
  for (const double delay : {3.37, 7.0, 200.08}) {
    const Samples s = heard(x, delay);
    expect_alike("{samples: 16384, " + aclr + "}", {}, x, s, 2);
    expect_alike("{samples: 20000, gain: 0.8, orders: {main: 9, conjugate: 7}, taps: 16}", {9, 7, 16}, x, s, 2);
    expect_alike("{samples: 4096, orders: {main: 1, conjugate: 0}, taps: 2}", {1, 0, 2}, x, s, 2);
    expect_alike("{samples: 16384, above: -10 dB, " + aclr + "}", {}, x, s, 0);
  }
}

TEST(PredistortionOnCuda, RefusalsAreAlike) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO REFUSALS WERE TESTED ON CUDA: " << why;
  const Samples x = waveform();
  Samples bad = heard(x, 3.37);
  std::fill(bad.begin() + kBlock, bad.end(), cf32());
  expect_alike("{samples: 16384}", {}, x, bad, 1);
  bad = heard(x, 3.37);
  for (cf32& s : bad) s = std::conj(s);
  expect_alike("{samples: 16384}", {}, x, bad, 0);
  expect_alike("{samples: 16384, orders: {main: 1, conjugate: 0}, taps: 1, coefficients: [0.9, 0.1]}", {1, 0, 1}, x,
               bad, 2);
  bad = heard(x, 3.37);
  bad[100] = {NAN, 0};
  expect_alike("{samples: 16384}", {}, x, bad, 1);
  expect_alike("{samples: 16384, search: 40}", {}, x, heard(x, 41), 0);
}

}  // namespace
}  // namespace iqd::conformance
