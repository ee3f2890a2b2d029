// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the threads of a transform one after the other on the host.
#include "gpu/fft_radix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <utility>

#include "signal/filters/fft_plan.hpp"

namespace iqd::gpu {
namespace {

/// Memory that points are exchanged through; NaN where nothing was written.
template <int N> using Exchange = std::vector<Complex32>;

template <int N, int P = 1> void run_steps(Exchange<N>& memory, const std::vector<Complex32>& factors) {
  Exchange<N> next(memory.size(), Complex32{NAN, NAN});
  constexpr bool kLast = P * kFftRadix<N, P> == N;
  for (int t = 0; t < kFftThreads<N>; ++t) {
    Complex32 v[kFftPoints<N>];
    for (int e = 0; e < kFftPoints<N>; ++e) v[e] = memory.at(static_cast<std::size_t>(read_at<N>(0, t, e)));
    fft_step<N, P>(v, factors.data(), t);
    for (int e = 0; e < kFftPoints<N>; ++e) {
      const int at = kLast ? read_at<N>(0, t, e) : write_at<P>(0, t, e);
      next.at(static_cast<std::size_t>(at)) = v[e];
    }
  }
  memory = std::move(next);
  if constexpr (!kLast) run_steps<N, 16 * P>(memory, factors);
}

template <int N> std::vector<Complex32> fft(const std::vector<Complex32>& x) {
  Exchange<N> memory(static_cast<std::size_t>(padded(N)), Complex32{NAN, NAN});
  for (int n = 0; n < N; ++n) memory[static_cast<std::size_t>(padded(n))] = x[static_cast<std::size_t>(n)];
  run_steps<N>(memory, fft_factors(N));
  std::vector<Complex32> y;
  for (int n = 0; n < N; ++n) y.push_back(memory[static_cast<std::size_t>(padded(n))]);
  return y;
}

std::vector<Complex32> noise(int n) {
  std::mt19937 generator(5);
  std::normal_distribution<float> normal;
  std::vector<Complex32> x;
  for (int i = 0; i < n; ++i) x.push_back({normal(generator), normal(generator)});
  return x;
}

/// The largest difference from FFTW, relative to the rms of the parts.
template <int N> double off_fftw(const std::vector<Complex32>& x) {
  alignas(64) static cf32 in[N], out[N];
  for (std::size_t n = 0; n < N; ++n) in[n] = {x[n].re, x[n].im};
  FftPlan(N).run(in, out);
  const auto y = fft<N>(x);
  double worst = 0, power = 0;
  for (std::size_t k = 0; k < N; ++k) {
    power += std::norm(out[k]) / (2 * N);
    worst = std::max<double>({worst, std::fabs(y[k].re - out[k].real()), std::fabs(y[k].im - out[k].imag())});
  }
  return worst / std::sqrt(power);
}

template <class F, int... Log2> void for_sizes(F f, std::integer_sequence<int, Log2...>) {
  (f.template operator()<(2 << Log2)>(), ...);
}
template <class F> void for_every_size(F f) {
  for_sizes(f, std::make_integer_sequence<int, 13>());
}

TEST(FftRadix, AgreesWithFftw) {
  for_every_size([]<int N>() { EXPECT_LT(off_fftw<N>(noise(N)), 1e-6) << N; });
}

TEST(FftRadix, ToneOnABinIsThatBin) {
  for_every_size([]<int N>() {
    constexpr int kBin = N / 3;
    std::vector<Complex32> x;
    for (int n = 0; n < N; ++n) {
      const double turn = 2 * std::numbers::pi * (static_cast<double>(n) * kBin / N);
      x.push_back({static_cast<float>(std::cos(turn)), static_cast<float>(std::sin(turn))});
    }
    const auto y = fft<N>(x);
    for (int k = 0; k < N; ++k) {
      EXPECT_NEAR(y[static_cast<std::size_t>(k)].re, k == kBin ? N : 0, 1e-6 * N) << N << " " << k;
      EXPECT_NEAR(y[static_cast<std::size_t>(k)].im, 0, 1e-6 * N) << N << " " << k;
    }
  });
}

TEST(FftRadix, NanSpoilsEveryBin) {
  for_every_size([]<int N>() {
    auto x = noise(N);
    x[N / 2].re = x[N / 2].im = std::numeric_limits<float>::quiet_NaN();
    for (const Complex32& y : fft<N>(x)) EXPECT_TRUE(std::isnan(y.re) && std::isnan(y.im)) << N;
  });
}

/// If all but the first points are 0, the first step repeats each of them 16 times.
TEST(FftRadix, FewPointsCanBeginAtTheSecondStep) {
  constexpr int N = 8192;
  auto x = noise(N);
  for (std::size_t n = kFftThreads<N>; n < N; ++n) x[n] = {0, 0};
  Exchange<N> memory(static_cast<std::size_t>(padded(N)), Complex32{NAN, NAN});
  for (int n = 0; n < N; ++n) memory[static_cast<std::size_t>(padded(n))] = x[static_cast<std::size_t>(n / 16)];
  run_steps<N, 16>(memory, fft_factors(N));
  const auto y = fft<N>(x);
  for (int k = 0; k < N; ++k) {
    EXPECT_EQ(memory[static_cast<std::size_t>(padded(k))].re, y[static_cast<std::size_t>(k)].re) << k;
    EXPECT_EQ(memory[static_cast<std::size_t>(padded(k))].im, y[static_cast<std::size_t>(k)].im) << k;
  }
}

/// 16 consecutive threads access 16 different banks of 8 bytes, for consecutive transforms.
template <int N> bool free_of_conflicts(int first, auto at) {
  std::set<int> banks;
  for (int lane = first; lane < first + 16; ++lane) {
    const int t = lane % kFftThreads<N>;
    banks.insert(at(padded(lane / kFftThreads<N> * N), t) % 16);
  }
  return banks.size() == 16;
}

TEST(FftRadix, NoTwoThreadsMeetInABank) {
  for_every_size([]<int N>() {
    for (int first = 0; first < std::max(32, kFftThreads<N>); first += 16)
      for (int e = 0; e < kFftPoints<N>; ++e) {
        const auto read = [e](int base, int t) { return read_at<N>(base, t, e); };
        EXPECT_TRUE(free_of_conflicts<N>(first, read)) << N << " " << first << " " << e;
        const auto write = [e]<int P>(int base, int t) { return write_at<P>(base, t, e); };
        const auto free = [&](auto at) { return free_of_conflicts<N>(first, at); };
        EXPECT_TRUE(N <= 16 || free([&](int b, int t) { return write.template operator()<1>(b, t); })) << N;
        EXPECT_TRUE(N <= 256 || free([&](int b, int t) { return write.template operator()<16>(b, t); })) << N;
        EXPECT_TRUE(N <= 4096 || free([&](int b, int t) { return write.template operator()<256>(b, t); })) << N;
      }
  });
}

}  // namespace
}  // namespace iqd::gpu
