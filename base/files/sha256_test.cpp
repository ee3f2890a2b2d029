// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/sha256.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

/// The example of FIPS 180-4.
TEST(Sha256, OfPieces) {
  Sha256 hash;
  hash.add("a");
  hash.add("");
  hash.add("bc");
  EXPECT_EQ(hash.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace iqd
