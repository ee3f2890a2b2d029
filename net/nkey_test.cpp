// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/nkey.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::net {
namespace {

/// A pair that OpenSSL has made.
TEST(NKey, PublicKeyOfASeed) {
  EXPECT_EQ(public_nkey("SUABME7NJRJGLBALSLKZZP5KEDRBQZIAV6DXYFZBN5UZETW4N44CY7J2CQ"),
            "UCT2RPD4NZ3SJRUA2R4M4RLUBSR4B53KHE6VNZVZSE44J2TGUVY3KDYD");
}

TEST(NKey, MadeOnesAreDifferentAndConsistent) {
  const NKey one = make_nkey(), other = make_nkey();
  EXPECT_NE(one.seed, other.seed);
  EXPECT_EQ(one.seed.size(), 58u);
  EXPECT_EQ(one.seed.substr(0, 2), "SU");
  EXPECT_EQ(one.public_key.size(), 56u);
  EXPECT_EQ(one.public_key.front(), 'U');
  EXPECT_EQ(public_nkey(one.seed), one.public_key);
}

TEST(NKey, WhatIsNoSeedIsRefused) {
  std::string seed = make_nkey().seed;
  EXPECT_THROW(public_nkey(""), SetupError);
  EXPECT_THROW(public_nkey("SU"), SetupError);
  EXPECT_THROW(public_nkey(make_nkey().public_key), SetupError);
  EXPECT_THROW(public_nkey(seed.substr(0, 57)), SetupError);
  EXPECT_THROW(public_nkey(seed + "A"), SetupError);
  seed[20] = seed[20] == 'A' ? 'B' : 'A';
  EXPECT_THROW(public_nkey(seed), SetupError);
}

TEST(NKey, FilesAreForTheirOwner) {
  const ScratchFolder folder;
  const NKeyFile made = write_nkey(folder.path(), "worker", false);
  EXPECT_EQ(read_nkey(made.seed_file), made.public_key);
  struct stat about {};
  ASSERT_EQ(::stat(made.seed_file.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  EXPECT_THROW(write_nkey(folder.path(), "worker", false), SetupError);
  EXPECT_NE(write_nkey(folder.path(), "worker", true).public_key, made.public_key);
  ::chmod(made.seed_file.c_str(), 0640);
  EXPECT_THROW(read_nkey(made.seed_file), SetupError);
}

}  // namespace
}  // namespace iqd::net
