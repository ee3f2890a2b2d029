// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/access.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/reader.hpp"
#include "net/keys.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Access, KnowsWhatLeavesTheHost) {
  for (const char* here : {"tcp://127.0.0.1:1", "tcp://127.1.2.3:*", "tcp://localhost:5", "tcp://[::1]:5", "ipc://x"})
    EXPECT_TRUE(is_local(here)) << here;
  for (const char* there : {"tcp://*:1", "tcp://0.0.0.0:1", "tcp://10.0.0.1:1", "tcp://lab7:1", "tcp://[::]:1",
                            "tcp://127.evil.example:1", "tcp://127.0.0.1:5;10.0.0.1:5", "tcp://localhost.example:1"})
    EXPECT_FALSE(is_local(there)) << there;
}

/// The problems of a YAML map; `KEYS` in it is replaced by the folder of the keys.
class AccessCheck : public ::testing::Test {
 protected:
  void SetUp() override {
    write_key_files(folder_.path(), "lab", false);
    write_key_files(folder_.path(), "bob", false);
    folder_.write("list", read_public_key(folder_.path() / "bob.pub") + " bob\n");
  }
  std::string wrong(std::string yaml, const std::string& endpoint, bool bound = true) {
    const std::string keys = folder_.path().string();
    for (std::size_t at; (at = yaml.find("KEYS")) != std::string::npos;) yaml.replace(at, 4, keys);
    Problems problems;
    Access access;
    const Document document = parse_document("bind: x\nconnect: x\n" + yaml, "a.yaml", problems);
    std::string bind, connect;
    const Section section = read_fields(
        document.root,
        [&](FieldVisitor& v) {
          v.field("bind", bind, {});
          v.field("connect", connect, {});
          access.fields(v);
        },
        problems);
    access.check(endpoint, bound, section);
    std::string all;
    for (const Problem& p : problems) all += p.text() + "\n";
    return all;
  }
  ScratchFolder folder_;
};

TEST_F(AccessCheck, OffLoopbackWantsKeysOrAWord) {
  const std::string there = "tcp://10.0.0.1:5";
  EXPECT_EQ(wrong("", "tcp://127.0.0.1:5"), "");
  EXPECT_THAT(wrong("", there), AllOf(HasSubstr("a.yaml:1:1 bind: tcp://10.0.0.1:5 leads to other hosts"),
                                      HasSubstr("iqd keygen"), HasSubstr("insecure: true")));
  EXPECT_THAT(wrong("", there, false), HasSubstr("a.yaml:2:1 connect: tcp://10.0.0.1:5 leads to other hosts"));
  EXPECT_EQ(wrong("insecure: true", there), "");
  EXPECT_EQ(wrong("curve: {secret: KEYS/lab.secret, allow: KEYS/list}", there), "");
  EXPECT_EQ(wrong("curve: {secret: KEYS/lab.secret, allow: any}", there), "");
  EXPECT_EQ(wrong("curve: {secret: KEYS/bob.secret, server: KEYS/lab.pub}", there, false), "");
  EXPECT_EQ(wrong("curve: {server: KEYS/lab.pub}", there, false), "") << "for a server with allow: any";
}

TEST_F(AccessCheck, EachSideHasItsKeys) {
  EXPECT_THAT(wrong("curve: {}", "ipc://a"),
              AllOf(HasSubstr("3:1 curve: needs `secret:`"), HasSubstr("needs `allow:`")));
  EXPECT_THAT(wrong("curve: {secret: KEYS/lab.secret, allow: any, server: KEYS/bob.pub}", "ipc://a"),
              HasSubstr("curve.server: is for a socket with `connect:`"));
  EXPECT_THAT(wrong("curve: {secret: KEYS/lab.secret}", "ipc://a", false), HasSubstr("curve: needs `server:`"));
  EXPECT_THAT(wrong("curve: {server: KEYS/bob.pub, allow: any}", "ipc://a", false),
              HasSubstr("curve.allow: is for a socket with `bind:`"));
  EXPECT_THAT(wrong("curve: {server: KEYS/bob.pub}", "inproc://a", false), HasSubstr("takes no keys"));
  EXPECT_THAT(wrong("curve: {sekret: x}", "ipc://a"), HasSubstr("did you mean 'secret'?"));
}

TEST_F(AccessCheck, FilesAreReadBeforeAnythingStarts) {
  EXPECT_THAT(wrong("curve: {secret: KEYS/lab.pub, allow: any}", "ipc://a"), HasSubstr("a.yaml:3:9 curve.secret: "));
  EXPECT_THAT(wrong("curve: {secret: KEYS/none, allow: any}", "ipc://a"), HasSubstr("No such file"));
  EXPECT_THAT(wrong("curve: {secret: KEYS/lab.secret, allow: KEYS/none}", "ipc://a"), HasSubstr("curve.allow: "));
  EXPECT_THAT(wrong("curve: {server: KEYS/lab.secret}", "ipc://a", false),
              AllOf(HasSubstr("curve.server: "), HasSubstr("line 1 is a secret key")));
}

}  // namespace
}  // namespace iqd::net
