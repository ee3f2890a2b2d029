// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/lmmse_detector/lmmse_detector.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "pipeline/stages/stages.hpp"
#include "tests/support/detector_edges.hpp"

namespace iqd::lmmse_detector {
namespace {

using testing::Detected;
using testing::DetectorUnderTest;
using testing::random_transmission;
using testing::Transmission;
using complex = std::complex<double>;

constexpr const char* kKeys[] = {"", "{modulation: qpsk}", "{modulation: 16qam}", "{modulation: 64qam}",
                                 "{modulation: 256qam}"};

/// (H^H H + N I)^-1 by Gauss-Jordan elimination, and H^H y.
struct Normal {
  Normal(const Transmission& x, std::int64_t v) : tx(x.tx), noise(x.noise_at(v)) {
    for (int i = 0; i < tx; ++i) {
      for (int j = 0; j < tx; ++j) {
        a[i][j] = i == j ? noise : 0;
        a[i][tx + j] = i == j ? 1 : 0;
        for (int n = 0; n < x.rx; ++n) a[i][j] += std::conj(x.h_at(v, n, i)) * x.h_at(v, n, j);
      }
      for (int n = 0; n < x.rx; ++n) b[i] += std::conj(x.h_at(v, n, i)) * x.y_at(v, n);
    }
    for (int i = 0; i < tx; ++i) {
      const complex pivot = a[i][i];
      for (int j = 0; j < 2 * tx; ++j) a[i][j] /= pivot;
      for (int k = 0; k < tx; ++k) {
        const complex factor = a[k][i];
        for (int j = 0; k != i && j < 2 * tx; ++j) a[k][j] -= factor * a[i][j];
      }
    }
  }
  double error(int t) const { return noise * a[t][tx + t].real(); }
  complex estimate(int t) const {
    complex sum = 0;
    for (int i = 0; i < tx; ++i) sum += a[t][tx + i] * b[i];
    return sum;
  }

  int tx;
  double noise;
  complex a[8][16];
  complex b[8] = {};
};

/// [vector][tx][bit]
std::vector<double> expected(const Transmission& x) {
  std::vector<double> llr;
  for (std::int64_t v = 0; v < x.vectors(); ++v) {
    const Normal normal(x, v);
    for (int t = 0; t < x.tx; ++t) {
      const double error = normal.error(t), mu = 1 - error;
      const auto points = x.points_of(t);
      for (int b = 0; b < x.bits; ++b) {
        if (b >= x.bits_of(t)) {
          llr.push_back(0);
          continue;
        }
        double least[2] = {1e300, 1e300};
        for (std::size_t q = 0; q < points.size(); ++q) {
          double& best = least[q >> (x.bits_of(t) - 1 - b) & 1];
          best = std::min(best, std::norm(normal.estimate(t) / mu - points[q]));
        }
        llr.push_back((least[1] - least[0]) * mu / error);
      }
    }
  }
  return llr;
}

/// With a prior, by definition: for each antenna all others' means are subtracted, and the filter knows what is left of
/// them. [vector][tx][bit]
std::vector<double> expected_with_prior(const Transmission& x) {
  std::vector<double> llr;
  for (std::int64_t v = 0; v < x.vectors(); ++v) {
    std::vector<complex> mean;
    std::vector<double> share;
    for (int t = 0; t < x.tx; ++t) {
      complex sum = 0;
      double square = 0;
      const auto points = x.points_of(t);
      for (std::size_t q = 0; q < points.size(); ++q) {
        double p = 1;
        for (int b = 0; b < x.bits_of(t); ++b) {
          const double llr_of_bit = x.prior_at(v, t, b);
          p /= 1 + std::exp((q >> (x.bits_of(t) - 1 - b) & 1) != 0 ? llr_of_bit : -llr_of_bit);
        }
        sum += p * points[q];
        square += p * std::norm(points[q]);
      }
      mean.push_back(sum);
      share.push_back(std::max(square - std::norm(sum), std::ldexp(1, -10)));
    }
    for (int t = 0; t < x.tx; ++t) {
      // In place of the others' variances their channels are scaled, and y is without their means.
      Transmission one{x.rx, x.tx, x.bits, {}, {}, {static_cast<float>(x.noise_at(v))}, {}, {}, x.sent};
      for (int n = 0; n < x.rx; ++n) {
        complex y = x.y_at(v, n);
        for (int a = 0; a < x.tx; ++a) {
          const auto at = static_cast<std::size_t>(a);
          if (a != t) y -= x.h_at(v, n, a) * mean[at];
          one.h.emplace_back(x.h_at(v, n, a) * (a == t ? 1 : std::sqrt(share[at])));
        }
        one.y.emplace_back(y);
      }
      const auto of_all = expected(one);
      const auto own = static_cast<std::ptrdiff_t>(t * x.bits);
      llr.insert(llr.end(), of_all.begin() + own, of_all.begin() + own + x.bits);
    }
  }
  return llr;
}

/// |y - H s|^2 of the symbols given by the bits.
double distance(const Transmission& x, const std::vector<std::uint8_t>& bits, std::int64_t v) {
  const auto points = testing::constellation(x.bits);
  double sum = 0;
  for (int n = 0; n < x.rx; ++n) {
    complex e = x.y_at(v, n);
    for (int t = 0; t < x.tx; ++t) {
      std::size_t q = 0;
      for (int b = 0; b < x.bits; ++b) q = 2 * q + bits[static_cast<std::size_t>((v * x.tx + t) * x.bits + b)];
      e -= x.h_at(v, n, t) * points[q];
    }
    sum += std::norm(e);
  }
  return sum;
}

TEST(LmmseDetector, WithAPriorItSubtractsWhatIsKnown) {
  const struct {
    int rx, tx, bits;
    double noise, strength;
  } cases[] = {{1, 1, 4, 0.1, 2},  {2, 2, 2, 0.2, 4},  {4, 2, 4, 0.05, 6}, {4, 4, 2, 0.4, 1},
               {4, 4, 6, 0.01, 3}, {8, 4, 8, 0.01, 2}, {8, 8, 4, 0.1, 4},  {4, 4, 4, 0.05, 15}};
  for (const auto& c : cases) {
    Transmission x = random_transmission(c.rx, c.tx, c.bits, 37, c.noise);
    testing::add_prior(x, c.strength);
    DetectorUnderTest stage(entry(), kKeys[c.bits / 2], c.rx, c.tx, c.bits);
    const Detected got = stage.run(x);
    const auto want = expected_with_prior(x);
    ASSERT_EQ(got.llr.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(got.llr[i], want[i], 1e-3 * std::max(1.0, std::abs(want[i]))) << c.rx << " " << c.tx << " " << i;
      EXPECT_EQ(got.bits[i], got.llr[i] + mimo::usable_prior(x.prior[i]) < 0);
    }
  }
}

TEST(LmmseDetector, IsTheDefinitionInSinglePrecision) {
  const struct {
    int rx, tx, bits;
    double noise;
  } cases[] = {{1, 1, 4, 0.1},  {2, 2, 2, 0.2},  {4, 2, 4, 0.05}, {4, 4, 2, 0.4},
               {4, 4, 6, 0.01}, {8, 4, 8, 0.01}, {8, 8, 4, 0.1},  {5, 3, 6, 1e-6}};
  for (const auto& c : cases) {
    const Transmission x = random_transmission(c.rx, c.tx, c.bits, 37, c.noise);
    DetectorUnderTest stage(entry(), kKeys[c.bits / 2], c.rx, c.tx);
    const Detected got = stage.run(x);
    const auto want = expected(x);
    ASSERT_EQ(got.llr.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(got.llr[i], want[i], 2e-4 * std::max(1.0, std::abs(want[i]))) << c.rx << " " << c.tx << " " << i;
      EXPECT_EQ(got.bits[i], got.llr[i] < 0);
    }
    for (std::int64_t v = 0; v < x.vectors(); ++v)
      EXPECT_NEAR(got.distance[static_cast<std::size_t>(v)] / distance(x, got.bits, v), 1, 1e-3);
  }
}

TEST(LmmseDetector, MixedAlphabetsAgreeWithTheDefinition) {
  const struct {
    std::vector<int> sent;
    const char* keys;
    double noise;
  } cases[] = {{{4, 4, 2, 2}, "{modulation: [16qam, 16qam, qpsk, qpsk]}", 0.1},
               {{2, 6}, "{modulation: [qpsk, 64qam]}", 0.05},
               {{2, 8, 4}, "{modulation: [qpsk, 256qam, 16qam]}", 0.01},
               {{6, 4, 2, 6, 2}, "{modulation: [64qam, 16qam, qpsk, 64qam, qpsk]}", 0.05}};
  for (const auto& c : cases)
    for (const double strength : {0, 4}) {
      Transmission x = testing::mixed_transmission(6, c.sent, 37, c.noise);
      if (strength > 0) testing::add_prior(x, strength);
      const Detected got = DetectorUnderTest(entry(), c.keys, 6, x.tx, strength > 0 ? x.bits : 0).run(x);
      const auto want = strength > 0 ? expected_with_prior(x) : expected(x);
      ASSERT_EQ(got.llr.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i)
        EXPECT_NEAR(got.llr[i], want[i], 1e-3 * std::max(1.0, std::abs(want[i]))) << c.keys << i;
    }
}

/// Two equal columns, besides other antennas.
TEST(LmmseDetector, SingularChannelsAreNoException) {
  Transmission x = random_transmission(4, 4, 4, 60, 0.06);
  for (std::size_t i = 0; i < x.h.size(); i += 4) x.h[i + 2] = x.h[i];
  const Detected got = DetectorUnderTest(entry(), "{modulation: 16qam}", 4, 4).run(x);
  const auto want = expected(x);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got.llr[i], want[i], 2e-4 * std::max(1.0, std::abs(want[i]))) << i;
}

/// Without noise, each of two equal columns gets half of what both send; the third is still separated.
TEST(LmmseDetector, EqualColumnsShare) {
  Transmission x = random_transmission(3, 3, 2, 20, 0);
  for (std::size_t i = 0; i < x.h.size(); i += 3) x.h[i + 2] = x.h[i];
  for (std::int64_t v = 0; v < x.vectors(); ++v)
    for (int n = 0; n < 3; ++n) {
      complex sum = 0;
      for (int t = 0; t < 3; ++t)
        sum += x.h_at(v, n, t) *
               testing::constellation(2)[static_cast<std::size_t>(x.symbols[static_cast<std::size_t>(3 * v + t)])];
      x.y[static_cast<std::size_t>(3 * v + n)] = cf32(sum);
    }
  const Detected got = DetectorUnderTest(entry(), "{modulation: qpsk}", 3, 3).run(x);
  for (std::int64_t v = 0; v < x.vectors(); ++v)
    for (int b = 0; b < 2; ++b) {
      const auto llr = [&](int t) { return got.llr[static_cast<std::size_t>((3 * v + t) * 2 + b)]; };
      const auto sent = [&](int t) { return 1 - 2 * (x.symbols[static_cast<std::size_t>(3 * v + t)] >> (1 - b) & 1); };
      // x = 1/2 (s0 + s2), e = 1/2: 4 sqrt(1/2) x / e
      for (const int t : {0, 2}) EXPECT_NEAR(llr(t), 2 * (sent(0) + sent(2)), 1e-3) << v;
      EXPECT_GT(llr(1) * static_cast<float>(sent(1)), 1e6f);
    }
}

TEST(LmmseDetector, AnAntennaThatIsNotReceivedSaysNothing) {
  Transmission x = random_transmission(4, 2, 4, 20, 0.1);
  for (std::size_t i = 0; i < x.h.size(); i += 2) x.h[i] = 0;
  const Detected got = DetectorUnderTest(entry(), "{modulation: 16qam}", 4, 2).run(x);
  for (std::size_t i = 0; i < got.llr.size(); ++i) EXPECT_EQ(got.llr[i] == 0, i % 8 < 4) << i;
}

TEST(LmmseDetector, HasTheMannersOfDetectors) {
  testing::expect_detector_manners(entry());
}

}  // namespace
}  // namespace iqd::lmmse_detector
