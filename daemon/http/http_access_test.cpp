// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_access.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "daemon/command/commands.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd {
namespace {

constexpr const char* kGood = "0123456789abcdef";

class HttpAccessFiles : public ::testing::Test {
 protected:
  std::string file(const std::string& text, mode_t mode = 0600) { return folder_.write("token", text, mode); }
  static std::string complaint(const std::string& path) {
    try {
      read_token(path);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  }
  /// The problems of a file with this `monitor`.
  std::string problems(const std::string& monitor) {
    const auto loaded = load(folder_.write("p.yaml", "source: {generate: {rate: 1e6}}\nmonitor: " + monitor + "\n"));
    std::string lines;
    for (const Problem& p : loaded->problems) lines += p.text() + "\n";
    return lines;
  }
  ScratchFolder folder_;
};

TEST(HttpListen, AddressesAndPorts) {
  const auto address = parse_listen("127.0.0.1:9464");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->text(), "127.0.0.1:9464");
  EXPECT_TRUE(address->is_loopback);
  EXPECT_EQ(parse_listen("localhost:0")->text(), "127.0.0.1:0");
  EXPECT_TRUE(parse_listen("127.9.9.9:65535")->is_loopback);
  EXPECT_FALSE(parse_listen("0.0.0.0:80")->is_loopback);
  EXPECT_FALSE(parse_listen("192.168.1.2:80")->is_loopback);
  for (const char* wrong : {"", ":", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:80x",
                            "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:99999999999", "127.0.0.1: 80", "host:80",
                            "127.0.0.256:80", "[::1]:80", "::1:80", "127.0.0.1:80,0.0.0.0:81", "127.0.0.1:80s"})
    EXPECT_FALSE(parse_listen(wrong)) << wrong;
}

TEST(HttpSecret, IsComparedWhole) {
  EXPECT_TRUE(is_secret("abc", "abc"));
  for (const char* wrong : {"", "ab", "abcd", "abd", "Abc", "abcabc"}) EXPECT_FALSE(is_secret(wrong, "abc")) << wrong;
}

TEST_F(HttpAccessFiles, ATokenIsAFileOfOneLine) {
  EXPECT_EQ(read_token(file(kGood)), kGood);
  EXPECT_EQ(read_token(file(std::string(kGood) + "\n")), kGood);
  EXPECT_EQ(read_token(file(std::string(1024, 'x') + "\r\n", 0400)), std::string(1024, 'x'));
}

TEST_F(HttpAccessFiles, WhatIsWrongWithATokenIsSaid) {
  EXPECT_THAT(complaint(folder_ / "none"), ::testing::HasSubstr("No such file"));
  EXPECT_THAT(complaint(folder_.path()), ::testing::HasSubstr("not a regular file"));
  for (const mode_t mode : {0640, 0604, 0660, 0666, 0620})
    EXPECT_THAT(complaint(file(kGood, mode)), ::testing::HasSubstr("chmod 600")) << std::oct << mode;
  ::chmod((folder_ / "token").c_str(), 0600);
  EXPECT_THAT(complaint(file("")), ::testing::HasSubstr("can be guessed"));
  EXPECT_THAT(complaint(file("0123456789abcde\n")), ::testing::HasSubstr("can be guessed"));
  EXPECT_THAT(complaint(file("0123456789 abcdef")), ::testing::HasSubstr("one line"));
  EXPECT_THAT(complaint(file("0123456789\nabcdef")), ::testing::HasSubstr("one line"));
  EXPECT_THAT(complaint(file(std::string(1025, 'x'))), ::testing::HasSubstr("one line"));
  EXPECT_THAT(complaint(file(std::string(100000, 'x'))), ::testing::HasSubstr("one line"));
}

TEST_F(HttpAccessFiles, TheMonitorOfAFileIsChecked) {
  EXPECT_EQ(problems("{listen: \"127.0.0.1:9464\"}"), "");
  EXPECT_EQ(problems("{listen: \"127.0.0.1:9464\", token: " + file(kGood) + "}"), "");
  EXPECT_EQ(problems("{listen: \"0.0.0.0:9464\", token: " + file(kGood) + "}"), "");
  EXPECT_EQ(problems("{listen: \"0.0.0.0:9464\", insecure: true}"), "");
  EXPECT_THAT(problems("{listen: \"9464\"}"),
              ::testing::HasSubstr("p.yaml:2:11 monitor.listen: '9464' is not an IPv4"));
  EXPECT_THAT(problems("{listen: \"0.0.0.0:9464\"}"), ::testing::HasSubstr("other machines"));
  EXPECT_THAT(problems("{listen: \"127.0.0.1:1\", token: /none}"), ::testing::HasSubstr("p.yaml:2:34 monitor.token"));
  EXPECT_EQ(problems("{listen: \"127.0.0.1:1\", recordings: " + folder_.path().string() +
                     ", peers: [lab2, \"http://lab3:9500/\"], grafana: \"https://grafana.lab/d/iqd\"}"),
            "");
  EXPECT_THAT(problems("{listen: \"127.0.0.1:1\", recordings: /none}"),
              ::testing::HasSubstr("monitor.recordings: /none: there is no such folder"));
  EXPECT_THAT(problems("{listen: \"127.0.0.1:1\", recordings: " + file("x") + "}"),
              ::testing::HasSubstr("there is no such folder"));
  EXPECT_THAT(problems("{listen: \"127.0.0.1:1\", peers: [\"https://lab2\"]}"),
              ::testing::HasSubstr("monitor.peers: 'https://lab2' is not the address of a monitor"));
  EXPECT_THAT(problems("{listen: \"127.0.0.1:1\", grafana: \"javascript:x\"}"),
              ::testing::HasSubstr("monitor.grafana: 'javascript:x'"));
  EXPECT_THAT(problems("{token: x}"), ::testing::HasSubstr("listen"));
  EXPECT_THAT(problems("{listen: \"127.0.0.1:1\", port: 2}"), ::testing::HasSubstr("unknown key"));
}

TEST(HttpAccess, OnLoopbackAHostHasNoName) {
  const HttpAccess access(true, "");
  for (const char* host : {"localhost", "localhost:9464", "127.0.0.1", "127.0.0.1:9464", "[::1]:9464", "10.0.0.1:1"})
    EXPECT_FALSE(access.refuse({.host = host})) << host;
  EXPECT_FALSE(access.refuse({}));
  for (const char* host : {"", "evil.example", "evil.example:9464", "localhost.evil.example", "127.0.0.1.evil.example"})
    EXPECT_EQ(access.refuse({.host = host}).value_or(HttpAccess::Refusal{}).status, 421) << host;
  EXPECT_FALSE(HttpAccess(false, "").refuse({.host = "radio.example:9464"}));
}

int status_of(const HttpAccess& access, const Caller& caller) {
  const auto no = access.refuse_change(caller);
  return no ? no->status : 200;
}

TEST(HttpAccess, ChangesNeedTheToken) {
  const HttpAccess access(false, kGood);
  EXPECT_EQ(status_of(access, {}), 401);
  EXPECT_EQ(status_of(access, {.authorization = "Bearer 0123456789abcdef"}), 200);
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer x", "Bearer 0123456789abcdef ", "Bearer 0123456789abcdeg",
                            "Basic 0123456789abcdef", "0123456789abcdef"})
    EXPECT_EQ(status_of(access, {.authorization = wrong}), 401) << wrong;
}

TEST(HttpAccess, WithoutATokenOnlyLoopbackChanges) {
  EXPECT_EQ(status_of(HttpAccess(true, ""), {.host = "localhost:1"}), 200);
  EXPECT_EQ(status_of(HttpAccess(false, ""), {.host = "localhost:1"}), 403);
}

TEST(HttpAccess, PagesOfOtherSitesChangeNothing) {
  const HttpAccess access(true, "");
  EXPECT_EQ(status_of(access, {.host = "localhost:1", .origin = "http://localhost:1"}), 200);
  EXPECT_EQ(status_of(access, {.host = "localhost:1", .origin = "http://localhost:2"}), 403);
  EXPECT_EQ(status_of(access, {.host = "localhost:1", .origin = "https://evil.example"}), 403);
  EXPECT_EQ(status_of(access, {.host = "localhost:1", .origin = "null"}), 403);
  EXPECT_EQ(status_of(access, {.origin = "http://localhost:1"}), 403);
}

TEST(HttpAccess, OnlyOurOwnPageReadsASocket) {
  struct Case {
    const char* host;
    const char* origin;
    int status;
  };
  for (const bool is_loopback : {true, false})
    for (const char* token : {"", kGood}) {
      const HttpAccess access(is_loopback, token);
      for (const auto& [host, origin, status] :
           {Case{"127.0.0.1:1", nullptr, 200}, Case{"127.0.0.1:1", "http://127.0.0.1:1", 200},
            Case{"127.0.0.1:1", "https://127.0.0.1:1", 200}, Case{"127.0.0.1:1", "http://127.0.0.1:2", 403},
            Case{"127.0.0.1:1", "http://evil.example", 403}, Case{"127.0.0.1:1", "null", 403},
            Case{"127.0.0.1:1", "", 403}, Case{nullptr, "http://127.0.0.1:1", 403}, Case{nullptr, nullptr, 200},
            Case{"evil.example", "http://evil.example", is_loopback ? 421 : 200},
            Case{"evil.example", nullptr, is_loopback ? 421 : 200}}) {
        const Caller caller{.host = host, .origin = origin};
        auto no = access.refuse(caller);
        if (!no) no = access.refuse_socket(caller);
        EXPECT_EQ(no ? no->status : 200, status) << (host ? host : "none") << " " << (origin ? origin : "none");
      }
    }
}

TEST(HttpAccess, SaysWhoMayChangeSomething) {
  using Changes = HttpAccess::Changes;
  EXPECT_EQ(HttpAccess(true, "").changes(), Changes::free);
  EXPECT_EQ(HttpAccess(true, kGood).changes(), Changes::with_token);
  EXPECT_EQ(HttpAccess(false, kGood).changes(), Changes::with_token);
  EXPECT_EQ(HttpAccess(false, "").changes(), Changes::never);
}

}  // namespace
}  // namespace iqd
