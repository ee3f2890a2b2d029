// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_live.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.hpp"
#include "daemon/http/http_door.hpp"
#include "daemon/http/http_page.hpp"
#include "daemon/http/page_files.hpp"
#include "tests/support/fake_service.hpp"
#include "tests/support/http_client.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kUpgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

std::string call(std::string_view method, std::string_view path, std::string_view more = "") {
  return fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", method, path, more);
}

Spec on_loopback() {
  Spec spec;
  spec.listen = "127.0.0.1:0";
  return spec;
}

class LiveDoor : public ::testing::Test {
 protected:
  std::string ask(std::string_view bytes, bool bodiless = false) { return testing::ask(port(), bytes, bodiless); }
  std::string upgraded(std::string_view path, std::string_view more = "") {
    return ask(call("GET", path, std::string(kUpgrade) + std::string(more)));
  }
  int port() const { return door_.address().port; }

  testing::FakeService service_;
  HttpDoor door_{service_, on_loopback()};
};

TEST_F(LiveDoor, AViewerIsUpgradedAndGreeted) {
  testing::HttpClient client(port());
  client.send(call("GET", "/api/live?trace=none", kUpgrade));
  EXPECT_THAT(client.receive(30000, true), StartsWith("HTTP/1.1 101 "));
  std::string frames;
  for (int looks = 0; looks < 100 && frames.find("\"status\"") == frames.npos; ++looks) frames += client.receive(100);
  EXPECT_THAT(frames, HasSubstr("{\"hello\":{\"changes\":\"yes\""));
  EXPECT_THAT(frames, HasSubstr("{\"log\":"));
  EXPECT_THAT(frames, HasSubstr("\"status\""));
  EXPECT_THAT(ask(call("GET", "/metrics")), HasSubstr("iqd_live_viewers 1\n"));
  door_.close_live();
  EXPECT_TRUE(client.drain());
}

TEST_F(LiveDoor, AViewerGetsAllLinesOfABurst) {
  testing::HttpClient client(port());
  client.send(call("GET", "/api/live?trace=none", kUpgrade));
  std::string frames;
  const auto has_come = [&](std::string_view text) {
    for (int looks = 0; looks < 100 && frames.find(text) == frames.npos; ++looks) frames += client.receive(100);
    return frames.find(text) != frames.npos;
  };
  ASSERT_TRUE(has_come("\"status\""));
  for (int i = 1; i <= 120; ++i) log::info("line {} of a burst", i);
  EXPECT_TRUE(has_come("line 120 of a burst"));
  EXPECT_THAT(frames, HasSubstr("line 1 of a burst"));
}

TEST_F(LiveDoor, WhoMayNotLookIsRefused) {
  EXPECT_THAT(upgraded("/api/live", "Origin: http://evil.example\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(upgraded("/api/live?trace=256"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(upgraded("/metrics"), StartsWith("HTTP/1.1 200 ")) << "an answer instead of a socket";
  EXPECT_THAT(ask(call("GET", "/api/live")), StartsWith("HTTP/1.1 426 "));
  EXPECT_THAT(ask(call("GET", "/api/live")), HasSubstr("Upgrade: websocket\r\n"));
  EXPECT_THAT(ask(call("POST", "/api/live", kUpgrade)), StartsWith("HTTP/1.1 405 "));
}

TEST_F(LiveDoor, ThePageIsForBrowsers) {
  EXPECT_THAT(ask(call("GET", "/")), HasSubstr("Content-Type: text/plain"));
  for (const PageFile& file : page_files()) {
    const std::string path = fmt::format("/page/{}", file.name);
    const std::string answer = ask(call("GET", path));
    EXPECT_THAT(answer, HasSubstr(fmt::format("Content-Type: {}\r\n", file.type)));
    EXPECT_THAT(answer, HasSubstr(std::string(kPagePolicy)));
    EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), file.text);
    const std::string again = ask(call("GET", path, fmt::format("If-None-Match: \"{}\"\r\n", file.hash)), true);
    EXPECT_THAT(again, StartsWith("HTTP/1.1 304 "));
    EXPECT_THAT(again, Not(HasSubstr("Content-Length")));
  }
  EXPECT_THAT(ask(call("GET", "/page/none.js")), StartsWith("HTTP/1.1 404 "));
  if (page_files().empty()) GTEST_SKIP() << "built without the page's files";
  EXPECT_THAT(ask(call("GET", "/", "Accept: text/html\r\n")), HasSubstr("Content-Type: text/html"));
}

TEST(LiveDoorWithoutAPage, HasNeitherPageNorSocket) {
  testing::FakeService service;
  Spec spec = on_loopback();
  spec.page = false;
  const HttpDoor door(service, spec);
  const auto ask = [&](const std::string& bytes) { return testing::ask(door.address().port, bytes); };
  EXPECT_THAT(ask(call("GET", "/", "Accept: text/html\r\n")), HasSubstr("GET    /metrics"));
  EXPECT_THAT(ask(call("GET", "/page/index.html")), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(call("GET", "/api/live", kUpgrade)), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(call("GET", "/metrics")), Not(HasSubstr("iqd_live")));
}

TEST(AskedTraces, AreNumbersOrNone) {
  const auto asked = [](std::string_view query) {
    const auto traces = asked_traces(query);
    return traces ? traces->to_string().substr(256 - 4) : "wrong";
  };
  EXPECT_EQ(asked(""), "0001");
  EXPECT_EQ(asked("x=1"), "0001");
  EXPECT_EQ(asked("trace=2"), "0100");
  EXPECT_EQ(asked("trace=0&x&trace=3"), "1001");
  EXPECT_EQ(asked("trace=none"), "0000");
  EXPECT_TRUE(asked_traces("trace=255")->test(255));
  for (const char* wrong : {"trace=", "trace=256", "trace=-1", "trace=1x", "trace= 1", "trace=0x1", "trace=1&trace=y",
                            "trace=99999999999999999999"})
    EXPECT_EQ(asked(wrong), "wrong") << wrong;
}

}  // namespace
}  // namespace iqd
