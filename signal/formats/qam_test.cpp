// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/qam.hpp"

#include <gtest/gtest.h>

#include <set>

namespace iqd {
namespace {

/// The formulas of TS 38.211, written out.
int by_the_standard(int bits, unsigned label) {
  const auto sign = [&](int i) { return (label >> (bits - 1 - i) & 1) != 0 ? -1 : 1; };
  if (bits == 1) return sign(0);
  if (bits == 2) return sign(0) * (2 - sign(1));
  if (bits == 3) return sign(0) * (4 - sign(1) * (2 - sign(2)));
  return sign(0) * (8 - sign(1) * (4 - sign(2) * (2 - sign(3))));
}

TEST(Qam, AmplitudesAreTheStandards) {
  for (int bits = 1; bits <= 4; ++bits)
    for (unsigned label = 0; label < 1u << bits; ++label)
      EXPECT_EQ(qam::amplitude(bits, label), by_the_standard(bits, label)) << bits << " " << label;
}

TEST(Qam, NeighboursDifferInOneBit) {
  for (int bits = 1; bits <= 4; ++bits) {
    std::set<unsigned> labels;
    for (int place = 0; place < 1 << bits; ++place) {
      const unsigned label = qam::label(bits, place);
      labels.insert(label);
      EXPECT_EQ(qam::amplitude(bits, label), 2 * place - ((1 << bits) - 1));
      if (place == 0) continue;
      const unsigned changed = label ^ qam::label(bits, place - 1);
      EXPECT_EQ(changed & (changed - 1), 0u) << bits << " " << place;
    }
    EXPECT_EQ(labels.size(), std::size_t{1} << bits);
  }
}

TEST(Qam, PowerIsTheMean) {
  for (int bits = 1; bits <= 4; ++bits) {
    int sum = 0;
    for (unsigned label = 0; label < 1u << bits; ++label)
      sum += qam::amplitude(bits, label) * qam::amplitude(bits, label);
    EXPECT_EQ(2 * sum / (1 << bits), qam::power(bits));
  }
}

TEST(Qam, RealBitsAreTheEvenOnes) {
  EXPECT_EQ(qam::weave(1, 1, 0), 0b10u);
  EXPECT_EQ(qam::weave(3, 0b101, 0b011), 0b100111u);
}

}  // namespace
}  // namespace iqd
