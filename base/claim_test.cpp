// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/claim.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

bool are_one(Claim::Kind kind, const std::string& a, const std::string& b) {
  const Claim one{kind, a, "bind"}, other{kind, b, "bind"};
  EXPECT_EQ(overlap(one, other), overlap(other, one)) << a << ' ' << b;
  return overlap(one, other);
}

TEST(Claim, AddressesOfOnePort) {
  const auto are = [](const std::string& a, const std::string& b) { return are_one(Claim::Kind::address, a, b); };
  EXPECT_TRUE(are("tcp://127.0.0.1:5555", "tcp://127.0.0.1:5555"));
  EXPECT_TRUE(are("tcp://127.0.0.1:5555", "tcp://localhost:05555"));
  EXPECT_TRUE(are("tcp://127.0.0.1:5555", "tcp://*:5555"));
  EXPECT_TRUE(are("tcp://0.0.0.0:5555", "tcp://10.0.0.1:5555"));
  EXPECT_FALSE(are("tcp://127.0.0.1:5555", "tcp://10.0.0.1:5555"));
  EXPECT_FALSE(are("tcp://127.0.0.1:5555", "tcp://127.0.0.1:5556"));
  EXPECT_FALSE(are("tcp://127.0.0.1:*", "tcp://127.0.0.1:*")) << "the system chooses";
  EXPECT_FALSE(are("tcp://127.0.0.1:0", "tcp://127.0.0.1:0"));
  EXPECT_FALSE(are("tcp://127.0.0.1:5555", "ipc://tcp"));
}

TEST(Claim, PathsOfOneFile) {
  EXPECT_TRUE(are_one(Claim::Kind::address, "ipc:///run/a/../x", "ipc:///run/x"));
  EXPECT_FALSE(are_one(Claim::Kind::address, "ipc:///run/x", "ipc:///run/y"));
  EXPECT_TRUE(are_one(Claim::Kind::file, "x.wav", "./a/../x.wav"));
  EXPECT_FALSE(are_one(Claim::Kind::file, "x.wav", "x.npy"));
}

TEST(Claim, OnlyOfOneKind) {
  EXPECT_TRUE(are_one(Claim::Kind::radio, "x", "x"));
  EXPECT_FALSE(are_one(Claim::Kind::radio, "x", "./x"));
  EXPECT_FALSE(overlap({Claim::Kind::radio, "x", ""}, {Claim::Kind::file, "x", ""}));
}

}  // namespace
}  // namespace iqd
