// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/pool_options.hpp"

#include <gtest/gtest.h>

namespace iqd::hosts {
namespace {

std::string problems_of(const LinkConfig& config) {
  Problems problems;
  Section section("pool", {}, problems);
  section.note("servers", {});
  config.check(section);
  std::string all;
  for (const Problem& p : problems) all += p.what + "\n";
  return all;
}

LinkConfig link_to(std::vector<std::string> servers) {
  LinkConfig config;
  config.servers = std::move(servers);
  return config;
}

TEST(LinkConfig, ServersOnThisHostNeedNoEncryption) {
  for (const char* server : {"nats://127.0.0.1:4222", "nats://localhost:4222", "nats://[::1]:4222", "nats://localhost"})
    EXPECT_EQ(problems_of(link_to({server})), "") << server;
}

TEST(LinkConfig, OtherHostsNeedIt) {
  EXPECT_EQ(problems_of(link_to({"nats://n1:4222"})),
            "'nats://n1:4222' is not encrypted and on another host: use tls://, or `insecure: true`\n");
  EXPECT_EQ(problems_of(link_to({"nats://127.0.0.1.example:4222"})),
            "'nats://127.0.0.1.example:4222' is not encrypted and on another host: use tls://, or `insecure: true`\n");
  LinkConfig open = link_to({"nats://n1:4222"});
  open.insecure = true;
  EXPECT_EQ(problems_of(open), "");
  EXPECT_EQ(problems_of(link_to({"tls://n1:4222", "tls://n2:4222"})), "");
}

TEST(LinkConfig, WhatIsNoAddressIsRefused) {
  EXPECT_EQ(problems_of(link_to({})), "is empty: name at least one, e.g. `nats://127.0.0.1:4222`\n");
  for (const char* server : {"n1:4222", "tcp://n1:4222", "nats://", "tls://:4222", ""})
    EXPECT_EQ(problems_of(link_to({server})),
              "'" + std::string(server) + "' is not an address such as tls://host:4222\n");
  EXPECT_EQ(problems_of(link_to({"tls://me:word@n1:4222"})), "has a password: use `key:`\n");
  EXPECT_EQ(problems_of(link_to({"tls://n1", "nats://127.0.0.1"})),
            "mixes tls:// and nats://: a cluster is encrypted or not\n");
}

TEST(PoolName, IsAPartOfASubject) {
  for (const char* name : {"band", "A-1_b", "0"}) EXPECT_TRUE(is_pool_name(name)) << name;
  for (const std::string& name : {std::string(), std::string("a.b"), std::string("*"), std::string(">"),
                                  std::string("a b"), std::string(65, 'x'), std::string("ä")})
    EXPECT_FALSE(is_pool_name(name)) << name;
}

TEST(PoolConfig, AsManyBlocksAreOutAsTheWindowHas) {
  PoolConfig config;
  PoolNeeds needs;
  needs.block = 1 << 18;
  needs.rate_hz = 1e6;
  needs.block_bytes = 1 << 20;
  EXPECT_EQ(config.most_out(needs), 256);
  config.window = 1;
  EXPECT_EQ(config.most_out(needs), 1) << "at least one";
  config.window = std::int64_t{1} << 40;
  EXPECT_EQ(config.most_out(needs), kMostAway);
}

/// More of them would be given up before they are done.
TEST(PoolConfig, OfALiveStreamNoMoreThanPatienceLasts) {
  PoolConfig config;
  PoolNeeds needs;
  needs.live = true;
  needs.block = 1 << 18;
  needs.rate_hz = 1 << 20;
  needs.block_bytes = 1 << 20;
  config.patience_s = 2;
  EXPECT_EQ(config.most_out(needs), 8 + 2);
  needs.rate_hz = 1e12;
  EXPECT_EQ(config.most_out(needs), 256);
}

TEST(PoolConfig, WarnsOfTooLittlePatience) {
  Problems problems;
  const Section section("pool", {}, problems);
  PoolConfig config;
  config.link.servers = {"nats://127.0.0.1:4222"};
  config.check(section);
  EXPECT_TRUE(problems.warnings().empty());
  config.tries = 5;
  config.check(section);
  ASSERT_EQ(problems.warnings().size(), 1u);
  EXPECT_NE(problems.warnings()[0].what.find("a block is lost after 2 s"), std::string::npos);
}

}  // namespace
}  // namespace iqd::hosts
