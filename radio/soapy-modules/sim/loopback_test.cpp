// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// The scenario `loopback` with a transmitter between the antennas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "signal/transmit/transmitter.hpp"
#include "tests/support/sim_radio.hpp"

namespace iqd::sim {
namespace {

using ::testing::HasSubstr;

Samples noise(std::size_t n) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> part(-0.4f, 0.4f);
  Samples x(n);
  for (cf32& v : x) v = {part(engine), part(engine)};
  return x;
}

/// What is received of x, read in pieces of `piece` samples.
Samples heard(const std::string& args, const Samples& x, std::size_t piece = 4096) {
  Radio radio("pace=false,scenario=loopback," + args);
  radio.start_transmitter();
  const void* buffer = x.data();
  int flags = 0;
  EXPECT_EQ(radio.device->writeStream(radio.tx, &buffer, x.size(), flags), std::ssize(x));
  radio.start();
  return radio.read(x.size(), piece);
}

/// The expected result from the model, after silence.
Samples modelled(const Transmitter::Options& options, const Samples& x) {
  const Transmitter transmitter(options);
  Samples padded(static_cast<std::size_t>(transmitter.past()));
  padded.insert(padded.end(), x.begin(), x.end());
  padded.resize(padded.size() + static_cast<std::size_t>(transmitter.future()));
  Samples y(x.size());
  transmitter.run(padded.data() + transmitter.past(), 0, y);
  return y;
}

void expect_near(const Samples& y, const Samples& expected) {
  ASSERT_EQ(y.size(), expected.size());
  for (std::size_t n = 0; n < y.size(); ++n) ASSERT_LT(std::abs(y[n] - expected[n]), 1e-6f) << n;
}

TEST(SimLoopback, TheTransmitterIsThatOfItsModel) {
  const Samples x = noise(6000);
  EXPECT_EQ(heard("pa=none", x), x);
  expect_near(heard("pa=memoryless", x), modelled(Transmitter::memoryless(), x));
  Transmitter::Options options = Transmitter::impaired();
  expect_near(heard("pa=spec", x), modelled(options, x));
  options.delay = 3.37;
  Samples quieter = modelled(options, x);
  for (cf32& v : quieter) v *= 0.1f;
  expect_near(heard("pa=spec,delay=3.37,gain=-20", x), quieter);
  options.delay = 103.37;
  expect_near(heard("pa=spec,delay=103.37", x), modelled(options, x));
}

TEST(SimLoopback, EachPartOfItMayBeChosen) {
  const Samples x = noise(1000);
  using complex = std::complex<float>;
  const auto check = [&](const std::string& args, auto expected) {
    const Samples y = heard(args, x);
    for (std::size_t n = 2; n < x.size(); ++n) ASSERT_LT(std::abs(y[n] - complex(expected(n))), 1e-6f) << args;
  };
  check("lo=0.05", [&](std::size_t n) { return x[n] + std::polar(0.05f, 0.7f); });
  check("iq_gain=6.0206", [&](std::size_t n) { return 1.5f * x[n] - 0.5f * std::conj(x[n]); });
  check("iq_phase=60", [&](std::size_t n) {
    const complex turned = std::polar(1.0f, std::numbers::pi_v<float> / 3);
    return (1.0f + turned) / 2.0f * x[n] + (1.0f - std::conj(turned)) / 2.0f * std::conj(x[n]);
  });
  check("memory=on", [&](std::size_t n) {
    const auto before = [&](std::size_t at) {
      return x[at] + std::polar(0.08f, 0.9f) * x[at - 1] + (at < 2 ? 0 : complex(0, -0.04f) * x[at - 2]);
    };
    return before(n) + complex(0, 0.05f) * before(n - 1);
  });
  expect_near(heard("pa=spec,iq_gain=0,iq_phase=0,lo=0,memory=off", x), heard("pa=memoryless", x));
}

TEST(SimLoopback, HowItIsReadDoesNotMatter) {
  const Samples x = noise(9000);
  const Samples whole = heard("pa=spec,delay=3.37,snr=50", x);
  EXPECT_EQ(heard("pa=spec,delay=3.37,snr=50", x, 999), whole);
  EXPECT_EQ(heard("pa=spec,delay=3.37,snr=50", x, 7), whole);
}

TEST(SimLoopback, WhatIsWrongIsRefused) {
  const auto complaint = [](const std::string& args) -> std::string {
    try {
      Radio radio("pace=false,scenario=loopback," + args);
      radio.start();
    } catch (const std::exception& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_THAT(complaint("pa=class_d"), HasSubstr("none, memoryless, spec"));
  EXPECT_THAT(complaint("delay=-1"), HasSubstr("delay=-1: expected a number from 0"));
  EXPECT_THAT(complaint("lo=2"), HasSubstr("lo=2: expected a number from 0 to 1"));
  EXPECT_THAT(complaint("memory=maybe"), HasSubstr("true or false"));
}

}  // namespace
}  // namespace iqd::sim
