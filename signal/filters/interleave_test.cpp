// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/interleave.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace iqd {
namespace {

/// Byte b of sample n of channel c.
std::byte part(std::int64_t c, std::int64_t n, std::int64_t b) {
  return static_cast<std::byte>(7 * c + 11 * n + 13 * b + n / 256);
}

TEST(Interleave, PutsEverySampleInItsPlaceAndNothingElse) {
  constexpr auto kUntouched = static_cast<std::byte>(0xa5);
  constexpr std::int64_t kBehind = 64;
  for (const std::int64_t bytes : {1, 2, 4, 8})
    for (const std::int64_t channels : {1, 2, 3, 4, 5, 6, 8, 9, 16})
      for (const std::int64_t samples : {0, 1, 3, 31, 64, 65, 1000}) {
        const std::int64_t pitch = samples + 5;
        std::vector<std::byte> from(static_cast<std::size_t>(channels * pitch * bytes));
        for (std::int64_t c = 0; c < channels; ++c)
          for (std::int64_t n = 0; n < pitch; ++n)
            for (std::int64_t b = 0; b < bytes; ++b)
              from[static_cast<std::size_t>((c * pitch + n) * bytes + b)] = part(c, n, b);
        std::vector<std::byte> to(static_cast<std::size_t>(channels * samples * bytes + kBehind), kUntouched);
        interleave(from.data(), static_cast<std::size_t>(bytes), channels, pitch, samples, to.data());
        std::vector<std::byte> expected;
        for (std::int64_t n = 0; n < samples; ++n)
          for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t b = 0; b < bytes; ++b) expected.push_back(part(c, n, b));
        expected.resize(to.size(), kUntouched);
        EXPECT_EQ(to, expected) << bytes << " bytes, " << channels << " channels, " << samples << " samples";
      }
}

}  // namespace
}  // namespace iqd
