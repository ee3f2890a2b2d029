// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/fft_plan.hpp"

#include <fftw3.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <thread>
#include <vector>

#include "signal/filters/scratch.hpp"

namespace iqd {
namespace {

struct Aligned {
  explicit Aligned(std::int64_t n) : memory(static_cast<std::size_t>(n) * sizeof(cf32) + Scratch::kAlignment) {
    data = Scratch(memory.data()).take<cf32>(n);
  }
  std::vector<std::byte> memory;
  cf32* data;
};

TEST(FftPlan, OneToneIsOneBin) {
  for (std::int64_t n : {1, 2, 3, 7, 16, 97, 1000}) {
    const Aligned x(n), y(n);
    const std::int64_t tone = n / 3;
    for (std::int64_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * tone % n) / static_cast<double>(n);
      x.data[i] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    }
    FftPlan(n).run(x.data, y.data);
    for (std::int64_t k = 0; k < n; ++k)
      EXPECT_NEAR(std::abs(y.data[k]), k == tone ? static_cast<double>(n) : 0, 1e-6 * static_cast<double>(n) + 1e-6);
    FftPlan(n, FftPlan::Direction::inverse).run(y.data, x.data);
    EXPECT_NEAR(x.data[0].real(), static_cast<double>(n), 1e-5 * static_cast<double>(n));
  }
}

TEST(FftPlan, ABatchIsItsTransformsOneByOne) {
  const std::int64_t n = 12;
  const Aligned x(n * 4), y(n * 4), z(n);
  for (std::int64_t i = 0; i < n * 4; ++i) x.data[i] = {static_cast<float>(i % 7), static_cast<float>(i % 5)};
  FftPlan(n, FftPlan::Direction::forward, 4).run(x.data, y.data);
  const FftPlan one(n);
  for (std::int64_t b = 0; b < 4; ++b) {
    one.run(x.data + b * n, z.data);
    for (std::int64_t k = 0; k < n; ++k) EXPECT_NEAR(std::abs(z.data[k] - y.data[b * n + k]), 0, 1e-4);
  }
}

/// Makes FFTW measure, and remember the results.
void measure(std::int64_t size, int rigor, std::int64_t batch) {
  const Aligned x(size * batch), y(size * batch);
  const int n = static_cast<int>(size);
  fftwf_set_timelimit(1);
  fftwf_plan plan = fftwf_plan_many_dft(1, &n, static_cast<int>(batch), reinterpret_cast<fftwf_complex*>(x.data),
                                        nullptr, 1, n, reinterpret_cast<fftwf_complex*>(y.data), nullptr, 1, n,
                                        FFTW_FORWARD, static_cast<unsigned>(rigor));
  fftwf_destroy_plan(plan);
}

/// Plans ignore what FFTW has measured before, in this process or on a busy machine.
TEST(FftPlan, RepeatablePlansGiveTheSameBitsWhateverWasMeasured) {
  for (const std::int64_t n : {17, 64, 100, 256, 1000, 2048}) {
    const std::int64_t batch = n < 64 ? 16 : 1;
    const Aligned x(n * batch), first(n * batch), again(n * batch);
    for (std::int64_t i = 0; i < n * batch; ++i)
      x.data[i] = {std::sin(static_cast<float>(i)), 1 / static_cast<float>(1 + i)};
    const auto transform = [&](cf32* y) {
      FftPlan(n, FftPlan::Direction::forward, batch, FftPlan::Algorithm::repeatable).run(x.data, y);
    };
    fftwf_forget_wisdom();
    transform(first.data);
    for (const int rigor : {FFTW_MEASURE, FFTW_PATIENT}) {
      fftwf_forget_wisdom();
      measure(n, rigor, batch);
      transform(again.data);
      EXPECT_EQ(std::memcmp(first.data, again.data, static_cast<std::size_t>(n * batch) * sizeof(cf32)), 0) << n;
    }
  }
}

/// What was measured first is kept, whatever FFTW would find out now.
TEST(FftPlan, PlansOfAKindGiveTheSameBits) {
  for (const std::int64_t n : {60, 512, 1000, 4096}) {
    const Aligned x(n), first(n), again(n);
    for (std::int64_t i = 0; i < n; ++i) x.data[i] = {std::sin(static_cast<float>(i)), 1 / static_cast<float>(1 + i)};
    FftPlan(n).run(x.data, first.data);
    for (int round = 0; round < 5; ++round) {
      measure(n, FFTW_PATIENT, 1);
      FftPlan(n).run(x.data, again.data);
      EXPECT_EQ(std::memcmp(first.data, again.data, static_cast<std::size_t>(n) * sizeof(cf32)), 0) << n;
    }
  }
}

TEST(FftPlan, IsMadeAndUsedByManyThreads) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      const std::int64_t n = 64 + t;
      const Aligned x(n), y(n);
      std::fill_n(x.data, n, cf32(1, 0));
      for (int round = 0; round < 5; ++round) {
        FftPlan(n).run(x.data, y.data);
        EXPECT_NEAR(y.data[0].real(), static_cast<double>(n), 1e-4);
      }
    });
}

TEST(Scratch, PiecesAreAlignedAndCounted) {
  Scratch count(nullptr);
  count.take<char>(1);
  count.take<float>(3);
  EXPECT_EQ(count.bytes(), 64u + 12 + 64);
  alignas(64) std::byte memory[256];
  Scratch scratch(memory + 1);
  EXPECT_EQ(scratch.take<char>(1), reinterpret_cast<char*>(memory + 64));
  EXPECT_EQ(scratch.take<float>(3), reinterpret_cast<float*>(memory + 128));
  EXPECT_LE(memory + 128 + 12, memory + 1 + count.bytes());
}

}  // namespace
}  // namespace iqd
