// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/transmit/aph_estimator/aph_estimator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>
#include <string>

#include "pipeline/stage_runner.hpp"
#include "pipeline/stages/stages.hpp"
#include "signal/channels/channel_power.hpp"
#include "signal/transmit/transmitter.hpp"
#include "signal/transmit/uplink_waveform.hpp"

namespace iqd::aph_estimator {
namespace {

using Complex64 = std::complex<double>;
using Samples = std::vector<cf32>;

constexpr std::int64_t kSamples = 16384;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Samples& waveform() {
  static const Samples x = [] {
    Samples all = UplinkWaveform{.subcarriers = 150}.make();
    all.resize(kSamples);
    return all;
  }();
  return x;
}

/// The transmitter's output for x, surrounded by zeros.
Samples through(const Transmitter::Options& options, const Samples& x) {
  const Transmitter transmitter(options);
  Samples padded(static_cast<std::size_t>(transmitter.past()));
  padded.insert(padded.end(), x.begin(), x.end());
  padded.resize(padded.size() + static_cast<std::size_t>(transmitter.future()));
  Samples y(x.size());
  transmitter.run(padded.data() + transmitter.past(), 0, y);
  return y;
}

/// The same through a receiver 60 dB above its noise.
Samples heard(Transmitter::Options options, const Samples& x, double delay) {
  options.delay = delay;
  options.noise = 0.27e-3;
  return through(options, x);
}

/// One row of Psi(x), in monomials; x is 0 before its first sample.
template <class T>
std::vector<Complex64> row(const AphOrders& orders, const std::vector<std::complex<T>>& x, std::int64_t n) {
  std::vector<Complex64> psi;
  for (const bool conjugate : {false, true})
    for (int p = 1; p <= (conjugate ? orders.conjugate : orders.main); p += 2)
      for (int k = 0; k < orders.taps; ++k) {
        const Complex64 v = n < k ? Complex64() : Complex64(x[static_cast<std::size_t>(n - k)]);
        psi.push_back(std::pow(std::abs(v), p - 1) * (conjugate ? std::conj(v) : v));
      }
  psi.emplace_back(1);
  return psi;
}

Samples predistorted(const Samples& x, const Samples& h, const AphOrders& orders = {}) {
  Samples z;
  for (std::int64_t n = 0; n < std::ssize(x); ++n) {
    const std::vector<Complex64> psi = row(orders, x, n);
    Complex64 sum;
    for (std::size_t i = 0; i < psi.size(); ++i) sum += psi[i] * Complex64(h[i]);
    z.emplace_back(sum);
  }
  return z;
}

/// The power of the worse adjacent channel relative to the carrier, in dB.
double aclr_db(const Samples& x) {
  const WelchSpectrum spectrum(512);
  std::vector<std::byte> scratch(WelchSpectrum::scratch_bytes(512));
  std::vector<double> power(512);
  spectrum.run(x, 0, power, scratch.data());
  const auto around = [&](double hz) { return power_within({(hz - 4.5e6) / 61.44e6, (hz + 4.5e6) / 61.44e6}, power); };
  return 10 * std::log10(std::max(around(-10e6), around(10e6)) / around(0));
}

struct Trained {
  Report report;
  Samples h;
};

Config small() {
  Config config;
  config.samples = kSamples;
  return config;
}

/// One training; the trainer with default keys is created once.
Trained train(const Samples& sent, const Samples& received, const Config& config) {
  const Trainer trainer(config, 61.44e6);
  Trained t;
  t.h.resize(static_cast<std::size_t>(config.orders.orders().coefficients()));
  std::vector<std::byte> scratch(Trainer::scratch_bytes(config));
  t.report = trainer.train(sent, received, t.h, scratch.data());
  return t;
}
Trained train(const Samples& sent, const Samples& received) {
  static const Trainer trainer(small());
  static std::vector<std::byte> scratch(Trainer::scratch_bytes(small()));
  Trained t{.report = {}, .h = Samples(26)};
  t.report = trainer.train(sent, received, t.h, scratch.data());
  return t;
}

void expect_refused(Outcome reason, const Samples& sent, const Samples& received) {
  const Trained t = train(sent, received);
  EXPECT_EQ(kOutcomes[static_cast<std::size_t>(t.report.outcome)], kOutcomes[static_cast<std::size_t>(reason)]);
  EXPECT_FALSE(t.report.has_coefficients);
}

/// The effect of a wrong oscillator or sampling clock.
Samples turned(const Samples& x, double radians_a_sample) {
  Samples y;
  for (const cf32 v : x)
    y.emplace_back(Complex64(v) * std::polar(1.0, radians_a_sample * static_cast<double>(y.size())));
  return y;
}
Samples stretched(const Samples& x, double factor) {
  Samples y;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const double at = static_cast<double>(n) * factor, whole = std::floor(at);
    const auto i = static_cast<std::size_t>(whole);
    y.push_back(i + 1 < x.size() ? x[i] + (x[i + 1] - x[i]) * static_cast<float>(at - whole) : cf32());
  }
  return y;
}

/// min |z - A h| by modified Gram-Schmidt.
std::vector<Complex64> least_squares(std::vector<std::vector<Complex64>> columns, std::vector<Complex64> z) {
  const auto inner = [](const std::vector<Complex64>& a, const std::vector<Complex64>& b) {
    Complex64 sum;
    for (std::size_t n = 0; n < a.size(); ++n) sum += std::conj(a[n]) * b[n];
    return sum;
  };
  const std::size_t m = columns.size();
  std::vector<std::vector<Complex64>> r(m, std::vector<Complex64>(m));
  std::vector<Complex64> h(m);
  for (std::size_t i = 0; i < m; ++i) {
    const double norm = std::sqrt(inner(columns[i], columns[i]).real());
    r[i][i] = norm;
    for (Complex64& v : columns[i]) v /= norm;
    for (std::size_t j = i + 1; j < m; ++j) {
      r[i][j] = inner(columns[i], columns[j]);
      for (std::size_t n = 0; n < z.size(); ++n) columns[j][n] -= r[i][j] * columns[i][n];
    }
    h[i] = inner(columns[i], z);
    for (std::size_t n = 0; n < z.size(); ++n) z[n] -= h[i] * columns[i][n];
  }
  for (std::size_t i = m; i-- > 0;) {
    for (std::size_t j = i + 1; j < m; ++j) h[i] -= r[i][j] * h[j];
    h[i] /= r[i][i];
  }
  return h;
}

TEST(NormalEquations, GiveWhatAnOrthogonalisationOfTheColumnsGives) {
  for (const AphOrders& orders :
       {AphOrders{}, AphOrders{9, 7, 2}, AphOrders{1, 3, 3}, AphOrders{3, 0, 16}, AphOrders{1, 0, 1}}) {
    const Samples sent(waveform().begin(), waveform().begin() + 1500);
    const Samples s = through(Transmitter::impaired(), sent);
    const std::vector<aph_estimator::Complex64> u(s.begin(), s.end());
    double power = 0;
    for (const cf32 v : s) power += std::norm(Complex64(v)) / 1500;
    std::vector<aph_estimator::Complex64> h(static_cast<std::size_t>(orders.coefficients()));
    const NormalEquations equations(orders);
    std::vector<std::byte> scratch(equations.scratch_bytes());
    const Solution solution = equations.solve(u, sent, 16, power, h, scratch.data());
    ASSERT_TRUE(solution.found);
    fold_to_monomial(orders, std::span(h), power);

    std::vector<std::vector<Complex64>> columns(h.size());
    std::vector<Complex64> z;
    for (std::int64_t n = 16; n < 1500; ++n) {
      const std::vector<Complex64> psi = row(orders, s, n);
      for (std::size_t i = 0; i < psi.size(); ++i) columns[i].push_back(psi[i]);
      z.emplace_back(sent[static_cast<std::size_t>(n)]);
    }
    const std::vector<Complex64> expected = least_squares(columns, z);
    double error = 0, energy = 0;
    for (std::size_t n = 0; n < z.size(); ++n) {
      Complex64 difference;
      for (std::size_t i = 0; i < h.size(); ++i) difference += columns[i][n] * (Complex64(h[i]) - expected[i]);
      error += std::norm(difference);
      energy += std::norm(z[n]);
    }
    // 100 dB: the coefficients are used with 24 bits.
    EXPECT_LT(error, 1e-10 * energy) << orders.main << orders.conjugate << orders.taps;
  }
}

TEST(AphEstimator, OneTrainingTakesTwentyDecibelsOffAnAmplifier) {
  const Samples& x = waveform();
  const Trained t = train(x, heard(Transmitter::memoryless(), x, 3.37));
  ASSERT_EQ(t.report.outcome, Outcome::trained);
  EXPECT_TRUE(t.report.has_coefficients);
  EXPECT_NEAR(t.report.delay, 3.37, 1e-3);
  const double before = aclr_db(through(Transmitter::memoryless(), x));
  EXPECT_LT(aclr_db(through(Transmitter::memoryless(), predistorted(x, t.h))), before - 20);
  EXPECT_LT(t.report.after, t.report.before / 100);
}

TEST(AphEstimator, OneTrainingTakesTenDecibelsOffATransmitterWithAllFaults) {
  const Samples& x = waveform();
  const Trained t = train(x, heard(Transmitter::impaired(), x, 3.37));
  ASSERT_EQ(t.report.outcome, Outcome::trained);
  const double before = aclr_db(through(Transmitter::impaired(), x));
  const Samples z = predistorted(x, t.h);
  EXPECT_LT(aclr_db(through(Transmitter::impaired(), z)), before - 10);
  // The applied coefficients explain the received signal; the earlier ones do not.
  Config next = small();
  next.coefficients.assign(t.h.begin(), t.h.end());
  next.gain = std::abs(t.report.gain);
  const Trained again = train(z, heard(Transmitter::impaired(), z, 3.37), next);
  ASSERT_EQ(again.report.outcome, Outcome::trained);
  EXPECT_LT(again.report.before, t.report.before / 100);
  EXPECT_NEAR(std::abs(again.report.gain), *next.gain, 1e-6);
  EXPECT_LT(aclr_db(through(Transmitter::impaired(), predistorted(x, again.h))), before - 10);
}

TEST(AphEstimator, FindsDelaysAndAnyPhase) {
  const Samples& x = waveform();
  Transmitter::Options options;  // nothing but a delay
  for (const double delay : {0.0, 0.1, 0.5, 7.0, 480.93}) {
    options.a1 = std::polar(0.5, delay);
    const Trained t = train(x, heard(options, x, delay));
    ASSERT_EQ(t.report.outcome, Outcome::trained);
    EXPECT_NEAR(t.report.delay, delay, 2e-4);
    EXPECT_NEAR(std::abs(t.report.gain - options.a1), 0, 1e-3);
    EXPECT_NEAR(t.report.coherence, 1, 1e-3);
    EXPECT_LT(t.report.after, 1e-5);
  }
  // Feedback that is early.
  options.delay = 5.25;
  options.a1 = -1;  // and inverted
  const Trained t = train(through(options, x), x);
  EXPECT_EQ(t.report.outcome, Outcome::trained);
  EXPECT_NEAR(t.report.delay, -5.25, 2e-4);
  EXPECT_NEAR(t.report.gain.real(), -1, 1e-3);
}

TEST(AphEstimator, MemoryIsLeftToTheTapsWhereTheDelayIsWhole) {
  const Samples& x = waveform();
  Samples s = through(Transmitter::impaired(), x);
  const Trained t = train(x, s);
  EXPECT_GT(t.report.delay, 0.03);  // the memory looks like a delay
  for (cf32& v : s) v = cf32(Complex64(v) / t.report.gain);
  const Samples z = predistorted(s, t.h);
  double error = 0, energy = 0;
  for (std::size_t n = 16; n < z.size(); ++n) {
    error += std::norm(Complex64(z[n]) - Complex64(x[n]));
    energy += std::norm(Complex64(x[n]));
  }
  EXPECT_NEAR(t.report.after / (error / energy), 1, 1e-3);
}

TEST(AphEstimator, RefusesWhatItCannotTrust) {
  const Samples& x = waveform();
  const Samples good = heard(Transmitter::memoryless(), x, 3.37);
  ASSERT_EQ(train(x, good).report.outcome, Outcome::trained);

  expect_refused(Outcome::too_short, Samples(1000), Samples(1000));
  expect_refused(Outcome::too_short, {}, {});
  expect_refused(Outcome::silent, x, Samples(kSamples));
  expect_refused(Outcome::silent, Samples(kSamples), good);
  Samples bad = good;
  bad[5000] = {0, kNan};
  expect_refused(Outcome::not_finite, x, bad);
  expect_refused(Outcome::not_finite, bad, good);
  bad[5000] = std::numeric_limits<float>::infinity();
  expect_refused(Outcome::not_finite, x, bad);
  bad = good;
  for (cf32& v : bad) v = {std::clamp(v.real(), -0.4f, 0.4f), std::clamp(v.imag(), -0.4f, 0.4f)};
  expect_refused(Outcome::clipped, x, bad);
  UplinkWaveform other{.subcarriers = 150};
  other.seed = 9;
  bad = other.make();
  bad.resize(kSamples);
  expect_refused(Outcome::other_signal, x, bad);
  bad = good;
  for (cf32& v : bad) v = std::conj(v);  // I and Q swapped
  expect_refused(Outcome::other_signal, x, bad);
  expect_refused(Outcome::misaligned, x, heard(Transmitter::memoryless(), x, 1001));
  bad = good;
  std::mt19937 engine(1);
  std::normal_distribution<float> part(0, 0.04f);  // 13 dB down
  for (cf32& v : bad) v += cf32(part(engine), part(engine));
  expect_refused(Outcome::poor_fit, x, bad);
}

TEST(AphEstimator, RefusesAnotherRateAndAnotherOscillator) {
  const Samples& x = waveform();
  const Samples good = through(Transmitter::memoryless(), x);
  expect_refused(Outcome::other_signal, x, stretched(good, 2));
  expect_refused(Outcome::other_signal, x, stretched(good, 1.01));
  expect_refused(Outcome::misaligned, x, stretched(good, 1 + 20e-6));
  expect_refused(Outcome::other_signal, x, turned(good, 2 * std::numbers::pi / kSamples));
  expect_refused(Outcome::misaligned, x, turned(good, 0.5 / kSamples));
}

TEST(AphEstimator, GivesBackWhatIsAppliedWhereItIsRefused) {
  Config config = small();
  config.orders.main = 3;
  config.orders.conjugate = 0;
  config.orders.taps = 1;
  config.coefficients = {0.9, {0.1, -0.2}, 0.01};
  const Trained t = train(Samples(kSamples), Samples(kSamples), config);
  EXPECT_EQ(t.report.outcome, Outcome::silent);
  EXPECT_TRUE(t.report.has_coefficients);
  EXPECT_EQ(t.h, Samples({0.9f, {0.1f, -0.2f}, 0.01f}));
}

TEST(AphEstimator, MeasuresWhatLiesBesideTheCarrierAndWhatWill) {
  const Samples& x = waveform();
  Config config = small();
  config.measured = true;
  config.aclr = {.bandwidth = 9e6, .spacing = 10e6, .size = 512};
  for (const auto& options : {Transmitter::memoryless(), Transmitter::impaired()}) {
    const Samples s = through(options, x);
    const Trained t = train(x, s, config);
    EXPECT_NEAR(t.report.aclr_before_db, aclr_db(s), 0.1);
    EXPECT_NEAR(t.report.aclr_after_db, aclr_db(through(options, predistorted(x, t.h))), 3);
  }
  EXPECT_TRUE(std::isnan(train(x, x).report.aclr_before_db));  // the carrier is not configured
}

TEST(AphEstimator, TrainsOnlyWhereWhatWasHeardIsWorseThanAsked) {
  const Samples& x = waveform();
  const Samples s = through(Transmitter::memoryless(), x);
  const double heard_db = aclr_db(s);
  Config config = small();
  config.measured = true;
  config.aclr = {.bandwidth = 9e6, .spacing = 10e6, .size = 512};
  config.coefficients = std::vector<Complex64>(26, 0.5);
  for (const double above : {heard_db - 0.2, heard_db + 0.2}) {
    config.above = above;
    const Trained t = train(x, s, config);
    const bool is_good = above > heard_db;
    EXPECT_EQ(t.report.outcome, is_good ? Outcome::good_enough : Outcome::trained);
    EXPECT_EQ(t.report.has_coefficients, !is_good);
    EXPECT_NEAR(t.report.aclr_before_db, heard_db, 0.1);
    EXPECT_EQ(std::isnan(t.report.delay), is_good);
  }
  // An ACLR that cannot be measured is not good enough: no whole frame.
  config.aclr.size = 2 * kSamples;
  EXPECT_EQ(train(x, s, config).report.outcome, Outcome::trained);
  // Nor is a silent signal.
  EXPECT_EQ(train(x, Samples(kSamples), config).report.outcome, Outcome::silent);
}

TEST(AphEstimator, ReportsByTheOrderOfItsValues) {
  const auto value = [](const Report& report, std::string_view name) {
    const auto at = std::find(kValues.begin(), kValues.end(), name) - kValues.begin();
    std::array<float, kValues.size()> values;
    report.write(values.data());
    return values[static_cast<std::size_t>(at)];
  };
  Report report{.outcome = Outcome::poor_fit, .delay = 2, .gain = {0, 10}, .coherence = 0.5, .before = 0.1, .after = 0};
  report.condition = 1000;
  report.peak = 0.75;
  report.aclr_before_db = -40;
  EXPECT_EQ(value(report, "outcome"), 8);
  EXPECT_EQ(value(report, "delay"), 2);
  EXPECT_FLOAT_EQ(value(report, "gain_db"), 20);
  EXPECT_FLOAT_EQ(value(report, "phase"), std::numbers::pi_v<float> / 2);
  EXPECT_EQ(value(report, "coherence"), 0.5f);
  EXPECT_FLOAT_EQ(value(report, "residual_before_db"), -10);
  EXPECT_FLOAT_EQ(value(report, "residual_after_db"), -300);
  EXPECT_FLOAT_EQ(value(report, "condition_db"), 30);
  EXPECT_EQ(value(report, "peak"), 0.75f);
  EXPECT_EQ(value(report, "aclr_before_db"), -40);
  for (std::size_t v = 1; v < kValues.size(); ++v) EXPECT_TRUE(std::isnan(value(Report(), kValues[v]))) << kValues[v];
}

StageInput input_of(const Samples& samples, double rate_hz = 61.44e6) {
  StageInput in;
  in.shape.rate_hz = in.shape.source_rate_hz = rate_hz;
  in.length = std::ssize(samples);
  in.data.resize(samples.size() * sizeof(cf32));
  std::memcpy(in.data.data(), samples.data(), in.data.size());
  return in;
}

/// Plans refer to it.
const StageEntry& kept_entry() {
  static const StageEntry kept = entry();
  return kept;
}

std::string complaint(const std::string& keys, double other_rate_hz = 61.44e6) {
  Problems problems;
  StageRunner(kept_entry(), keys, {input_of(Samples(2000)), input_of(Samples(2000), other_rate_hz)}, 0, "cpu",
              problems);
  return problems.empty() ? "" : problems.front().text();
}

TEST(AphEstimator, EveryBlockIsATraining) {
  Samples received = through(Transmitter::memoryless(), waveform());
  std::fill(received.begin() + 4096, received.begin() + 8192, cf32());
  Problems problems;
  StageRunner runner(kept_entry(), "{samples: 4096}", {input_of(waveform()), input_of(received)}, 4096, "cpu",
                     problems);
  ASSERT_TRUE(problems.empty());
  const std::vector<StageOutput> out = runner.run();
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].shape.text(), "cf32 [coefficient 26]");
  EXPECT_EQ(out[1].shape.text(), "f32 [value 11]");
  EXPECT_EQ(out[0].length, 3) << "none of the second block";
  EXPECT_EQ(out[1].length, 4);
  EXPECT_EQ(out[2].length, 4);
  EXPECT_TRUE(entry().outputs[1].levels);
  EXPECT_EQ(out[1].shape.item[0].labels[1], "delay");
  const std::vector<std::byte> bytes = out[2].joined();
  std::vector<std::int64_t> events(bytes.size() / sizeof(std::int64_t));
  std::memcpy(events.data(), bytes.data(), bytes.size());
  for (std::size_t b = 0; b < 4; ++b)
    for (std::size_t e = 0; e < kOutcomes.size(); ++e)
      EXPECT_EQ(events[b * kOutcomes.size() + e],
                e == static_cast<std::size_t>(b == 1 ? Outcome::silent : Outcome::trained))
          << b << ' ' << kOutcomes[e];
}

TEST(AphEstimator, SaysWhichKeyIsWrong) {
  EXPECT_EQ(complaint("{samples: 2000}"), "");
  EXPECT_NE(complaint("{orders: {main: 4}}").find("orders"), std::string::npos);
  EXPECT_NE(complaint("{coefficients: [1, 2]}").find("need 26"), std::string::npos);
  EXPECT_NE(complaint("{gain: 0}").find("gain"), std::string::npos);
  EXPECT_NE(complaint("{above: -45 dB}").find("needs the group `aclr`"), std::string::npos);
  EXPECT_EQ(complaint("{above: -45 dB, aclr: {bandwidth: 9 MHz, size: 512}}"), "");
  EXPECT_NE(complaint("{samples: 100}").find("samples"), std::string::npos);
  EXPECT_NE(complaint("{aclr: {bandwidth: 1 kHz}}").find("aclr.bandwidth"), std::string::npos);
  EXPECT_NE(complaint("{samples: 2000}", 40e6).find("one rate"), std::string::npos);
}

}  // namespace
}  // namespace iqd::aph_estimator
