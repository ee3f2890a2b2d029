// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A receiver from samples to bits: carrier_sync, symbol_sync, psk_demapper, against theory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "pipeline/stages/stages.hpp"
#include "tests/support/psk_signal.hpp"

namespace iqd::psk_demapper {
namespace {

using testing::align;
using testing::Alignment;
using testing::PskSignal;
using testing::run_stage;
using Bits = std::vector<std::uint8_t>;

std::vector<cf32> symbols_of(const PskSignal& signal, std::int64_t block) {
  const auto turned =
      run_stage(carrier_sync::entry(), "{modulation: qpsk, samples_per_symbol: 4}", signal.samples(), block);
  return run_stage(symbol_sync::entry(), "{samples_per_symbol: 4}", turned.of<cf32>("out"), block).of<cf32>("out");
}

double q(double x) {
  return std::erfc(x / std::sqrt(2.0)) / 2;
}
/// Bit error rate of Gray QPSK at this Es / N0.
double theory(double snr_db) {
  return q(std::sqrt(std::pow(10, snr_db / 10)));
}

/// With unknown timing and phase, a clock that is off by 100 ppm, and a frequency offset of 0.1 % of the sample rate.
TEST(PskReceiver, BitErrorsAreWithinHalfADecibelOfTheory) {
  for (const double snr_db : {7.0, 9.0}) {
    PskSignal signal;
    signal.snr_db = snr_db;
    signal.count = 60000;
    signal.timing = 0.37;
    const Alignment a = align(signal, symbols_of(signal, 5000));
    const double errors = static_cast<double>(a.bit_errors) / static_cast<double>(2 * a.compared);
    EXPECT_GT(errors, 0.9 * theory(snr_db)) << snr_db;
    EXPECT_LT(errors, theory(snr_db - 0.5)) << snr_db;
  }
}

/// Phase steps are independent of the ambiguity: at 15 dB all bits are those of the steps that were sent.
TEST(PskReceiver, DifferentialBitsComeOutAsTheyWere) {
  for (const double phase : {0.1, 1.7, 3.3, 5.0}) {
    PskSignal signal;
    signal.phase = phase;
    signal.count = 8000;
    const auto symbols = symbols_of(signal, 3000);
    const Bits bits = run_stage(psk_demapper::entry(), "{differential: true}", symbols).of<std::uint8_t>("bits");
    const auto lag = align(signal, symbols).lag;
    const auto sent = signal.points();
    int wrong = 0;
    for (std::int64_t i = 200; i < std::ssize(symbols) - 200; ++i) {
      const auto at = static_cast<std::size_t>(i + lag);
      const auto step = static_cast<unsigned>(sent[at] - sent[at - 1] + 4) % 4, number = step ^ (step >> 1);
      const auto first = static_cast<std::size_t>(2 * (i - 1));  // the first symbol has no step
      wrong += bits[first] != (number >> 1) || bits[first + 1] != (number & 1) ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0) << phase;
  }
}

}  // namespace
}  // namespace iqd::psk_demapper
