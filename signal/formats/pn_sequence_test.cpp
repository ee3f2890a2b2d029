// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/pn_sequence.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace iqd {
namespace {

struct Polynomial {
  int order;
  int tap;
};

void PrintTo(const Polynomial& p, std::ostream* out) {
  *out << "x^" << p.order << " + x^" << p.tap << " + 1";
}

class PnSequences : public ::testing::TestWithParam<Polynomial> {
 protected:
  /// By the recurrence, starting with `order` ones.
  std::vector<std::uint8_t> bits(std::int64_t n) const {
    const auto [order, tap] = GetParam();
    std::vector<std::uint8_t> b(static_cast<std::size_t>(n), 1);
    for (auto i = static_cast<std::size_t>(order); i < b.size(); ++i)
      b[i] = b[i - static_cast<std::size_t>(order)] ^ b[i - static_cast<std::size_t>(tap)];
    return b;
  }
  PnSequence sequence() const { return PnSequence(GetParam().order); }
};

TEST_P(PnSequences, FollowTheirPolynomials) {
  const PnSequence pn = sequence();
  std::uint32_t state = pn.mask();
  for (const auto b : bits(2000)) {
    ASSERT_EQ(pn.bit(state), b);
    state = pn.next(state);
  }
}

TEST_P(PnSequences, ReturnAfterTheirPeriodAndNotBefore) {
  const PnSequence pn = sequence();
  std::int64_t steps = 0;
  std::uint32_t state = pn.mask();
  do state = pn.next(state), ++steps;
  while (state != pn.mask() && steps <= pn.period());
  EXPECT_EQ(steps, pn.period());
}

TEST_P(PnSequences, AStateIsTheBitsThatFollow) {
  const PnSequence pn = sequence();
  const auto b = bits(500);
  for (int n = 0; n < 400; ++n) {
    std::uint32_t window = 0;
    for (int i = 0; i < pn.order(); ++i) window = window << 1 | b[static_cast<std::size_t>(n + i)];
    ASSERT_EQ(pn.state_at(n), window) << n;
  }
}

TEST_P(PnSequences, JumpBothWaysAndFar) {
  const PnSequence pn = sequence();
  EXPECT_EQ(pn.advance(0, 77), 0u);
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{1000}, pn.period() - 1, std::int64_t{1} << 62}) {
    const std::uint32_t there = pn.state_at(n);
    EXPECT_EQ(pn.advance(there, -n), pn.mask());
    EXPECT_EQ(pn.state_at(n + 1), pn.next(there));
    EXPECT_EQ(pn.state_at(n % pn.period()), there);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PnSequences, ::testing::Values(Polynomial{9, 5}, Polynomial{15, 14}, Polynomial{23, 18}),
                         [](const auto& p) { return "PN" + std::to_string(p.param.order); });

}  // namespace
}  // namespace iqd
