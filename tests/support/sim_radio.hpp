// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>
#include <gtest/gtest.h>

#include <SoapySDR/Device.hpp>
#include <SoapySDR/Modules.hpp>
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/support/built_path.hpp"

namespace iqd::sim {

using cf32 = std::complex<float>;
using Samples = std::vector<cf32>;

inline constexpr std::int64_t kEpoch = 1'700'000'000'000'000'000;

/// A device with its receive stream, as in any SoapySDR program. Its serial number is the name of the test, since
/// faults occur once for each serial number.
class Radio {
 public:
  explicit Radio(const std::string& args, double rate = 1e6, const std::vector<std::size_t>& channels = {0},
                 const std::string& format = "CF32")
      : channels_(channels.size()) {
    static const std::string loaded = SoapySDR::loadModule(built_path(IQD_SIM_MODULE, "IQD_SIM_MODULE"));
    EXPECT_TRUE(loaded.empty() || loaded.find("already") != std::string::npos) << loaded;
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    device = SoapySDR::Device::make("driver=iqdsim,epoch=1700000000,serial=" + std::string(test->name()) + "," + args);
    device->setSampleRate(SOAPY_SDR_RX, 0, rate);
    rx = device->setupStream(SOAPY_SDR_RX, format, channels);
  }
  ~Radio() {
    if (device == nullptr) return;
    if (tx) device->closeStream(tx);
    device->closeStream(rx);
    SoapySDR::Device::unmake(device);
  }
  void start() { ASSERT_EQ(device->activateStream(rx), 0); }
  void start_transmitter() {
    tx = device->setupStream(SOAPY_SDR_TX, "CF32", {0});
    ASSERT_EQ(device->activateStream(tx), 0);
  }
  /// One call; fills `flags` and `time`.
  template <class T> int read_once(std::vector<T>* into, std::size_t samples, long timeout_us = 100000) {
    std::vector<void*> buffers;
    for (std::size_t c = 0; c < channels_; ++c) {
      into[c].resize(samples);
      buffers.push_back(into[c].data());
    }
    return device->readStream(rx, buffers.data(), samples, flags, time, timeout_us);
  }
  /// Channel 0, read in pieces of this many samples.
  Samples read(std::size_t samples, std::size_t piece = 4096) {
    Samples all;
    std::vector<Samples> part(channels_);
    while (all.size() < samples) {
      const int got = read_once(part.data(), std::min(piece, samples - all.size()));
      if (got < 0) {
        ADD_FAILURE() << SoapySDR_errToStr(got) << " after " << all.size() << " samples";
        return all;
      }
      all.insert(all.end(), part[0].begin(), part[0].begin() + got);
    }
    return all;
  }
  /// The sample of the last time stamp, at 1 MS/s.
  std::int64_t position() const { return std::llround(static_cast<double>(time - kEpoch) * 1e-9 * 1e6); }

  SoapySDR::Device* device = nullptr;
  SoapySDR::Stream* rx = nullptr;
  SoapySDR::Stream* tx = nullptr;
  int flags = 0;
  long long time = 0;

 private:
  std::size_t channels_;
};

/// Mean power in dBFS.
inline double power_db(std::span<const cf32> x) {
  double sum = 0;
  for (const cf32 v : x) sum += std::norm(v);
  return 10 * std::log10(sum / static_cast<double>(x.size()));
}

/// Samples of a receive channel, without pace, in calls of `piece` samples. `args` name the scenario.
inline Samples hear(const std::string& args, double rate, std::size_t samples, std::size_t piece = 16384,
                    std::size_t channel = 0) {
  Radio radio("pace=false," + args, rate, {channel});
  radio.start();
  return radio.read(samples, piece);
}

/// The largest distance of samples from `expected(n)`, n = 0 … count-1; the first is x[first].
template <class F> double largest_error(const Samples& x, std::size_t first, std::size_t count, F expected) {
  double largest = 0;
  for (std::size_t n = 0; n < count; ++n)
    largest = std::max(largest, std::abs(std::complex<double>(x[first + n]) - expected(n)));
  return largest;
}

}  // namespace iqd::sim
