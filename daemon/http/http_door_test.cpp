// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_door.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/trigger/event.hpp"
#include "tests/support/fake_service.hpp"
#include "tests/support/few_descriptors.hpp"
#include "tests/support/http_client.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;
using testing::HttpClient;
using ::testing::Not;
using ::testing::StartsWith;

Spec spec_of(const std::string& listen = "127.0.0.1:0", const std::string& token_file = "") {
  Spec spec;
  spec.listen = listen;
  spec.token_file = token_file;
  return spec;
}

std::string request(std::string_view method, std::string_view path, std::string_view more = "",
                    std::string_view body = "") {
  const std::string length = body.empty() ? "" : fmt::format("Content-Length: {}\r\n", body.size());
  return fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}{}\r\n{}", method, path, more, length, body);
}

class Door : public ::testing::Test {
 protected:
  std::string ask(std::string_view bytes, bool bodiless = false) { return testing::ask(port(), bytes, bodiless); }
  std::string get(std::string_view path) { return ask(request("GET", path)); }
  std::string patch(std::string_view path, std::string_view body) { return ask(request("PATCH", path, "", body)); }
  int port() const { return door_.address().port; }
  static std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
  static nlohmann::json json_of(const std::string& answer) { return nlohmann::json::parse(body_of(answer)); }

  testing::FakeService service_;
  HttpDoor door_{service_, spec_of()};
};

TEST_F(Door, EveryRouteOfTheIndexAnswers) {
  const radio::trigger::Event::Listener waits(radio::trigger::Event::named("x"));
  const std::string index = get("/");
  EXPECT_THAT(index, StartsWith("HTTP/1.1 200 OK\r\n"));
  for (const HttpRoute& route : http_routes()) {
    EXPECT_THAT(index, HasSubstr(std::string(route.path)));
    std::string path(route.path);
    // See http_live_test.cpp and recordings_view_test.cpp.
    if (path == "/page/*" || path == "/api/live" || path.starts_with("/api/recordings")) continue;
    for (const auto& [part, name] :
         {std::pair{"pipelines/*", "pipelines/test"}, {"stages/*", "stages/window"}, {"*", "x"}})
      if (const std::size_t at = path.find(part); at != path.npos) path.replace(at, std::strlen(part), name);
    EXPECT_THAT(ask(request(route.method, path, "", route.changes() ? "{}" : "")), StartsWith("HTTP/1.1 200 OK"));
  }
}

TEST_F(Door, AnswersAreNotForOtherSitesNorForCaches) {
  const std::string answer = get("/api/status");
  for (const char* header : {"Content-Type: application/json\r\n", "Cache-Control: no-store\r\n",
                             "X-Content-Type-Options: nosniff\r\n", "Content-Security-Policy: default-src 'none'"})
    EXPECT_THAT(answer, HasSubstr(header));
  EXPECT_THAT(answer, Not(HasSubstr("Access-Control")));
  const std::string asked =
      ask(request("OPTIONS", "/api/stages/x", "Origin: http://evil\r\nAccess-Control-Request-Method: PATCH\r\n"));
  EXPECT_THAT(asked, StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(asked, Not(HasSubstr("Access-Control")));
}

TEST_F(Door, ReadyAndHealthy) {
  EXPECT_EQ(body_of(get("/readyz")), "ok\n");
  service_.locked()->unready = {"test: stalled", "test: no samples"};
  const std::string answer = get("/readyz");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(body_of(answer), "test: stalled\ntest: no samples\n");
  EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 "));
  service_.locked()->unhealthy = {"gone"};
  EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 503 "));
}

TEST_F(Door, StatusIsThatOfTheCommandLine) {
  service_.locked()->status[0].received = 12345;
  const nlohmann::json status = json_of(get("/api/status"));
  EXPECT_EQ(status["pipelines"][0]["received"], 12345);
  EXPECT_EQ(status["pipelines"][0]["ports"][0]["late"], 3);
  EXPECT_EQ(status["pipelines"][0]["endpoints"][0]["handshake_failures"], 5);
  EXPECT_EQ(status["final"], false);
}

TEST_F(Door, ThePlanHasShapesQueuesAndRates) {
  service_.locked()->status[0].received = 1000;
  nlohmann::json plan = json_of(get("/api/pipeline"))["pipelines"][0];
  EXPECT_EQ(plan["block"]["samples"], 1000);
  ASSERT_EQ(plan["stages"].size(), 1u);
  EXPECT_EQ(plan["stages"][0]["name"], "window");
  EXPECT_EQ(plan["stages"][0]["in"][0], "source");
  EXPECT_EQ(plan["stages"][0]["out"][0], "window.out");
  EXPECT_EQ(plan["ports"][0]["past"], 100);
  EXPECT_EQ(plan["ports"][1]["span"], plan["ports"][1]["rate"]);
  EXPECT_EQ(plan["ports"][1]["frequency"], 0);
  EXPECT_EQ(plan["ports"][1]["axes"], nlohmann::json::object());
  EXPECT_EQ(plan["ports"][1]["maker"], "window");
  EXPECT_EQ(plan["queues"]["slots_free"], 32);
  EXPECT_TRUE(plan["samples_per_second"].is_null()) << "looked at once";
  for (int look = 1; look <= 3; ++look) {
    service_.uptime = service_.uptime + 2;
    service_.locked()->status[0].received += 4000;
    service_.locked()->status[0].ports[0].messages += 8;
    plan = json_of(get("/api/pipeline"))["pipelines"][0];
  }
  EXPECT_DOUBLE_EQ(plan["samples_per_second"], 2000);
  EXPECT_DOUBLE_EQ(plan["messages"][0]["messages_per_second"], 4);
}

TEST_F(Door, HeadHasTheHeadersOnly) {
  HttpClient client(port());
  client.send(request("HEAD", "/readyz") + request("GET", "/readyz"));
  EXPECT_THAT(client.receive(30000, true), HasSubstr("Content-Length: 3\r\n"));
  EXPECT_EQ(body_of(client.receive()), "ok\n");
}

TEST_F(Door, OneConnectionServesMany) {
  HttpClient client(port());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client.send(request("GET", "/healthz")));
    ASSERT_THAT(client.receive(), StartsWith("HTTP/1.1 200")) << i;
    ASSERT_TRUE(client.send(request("PATCH", "/api/stages/window", "", "{\"a\": 1}")));
    ASSERT_THAT(client.receive(), StartsWith("HTTP/1.1 200")) << i;
  }
}

TEST_F(Door, ChangesReachTheService) {
  EXPECT_EQ(json_of(patch("/api/stages/window", "{\"past\": 7}")), nlohmann::json({{"applied", {"done"}}}));
  EXPECT_EQ(service_.locked()->asked, "|window|{\"past\": 7}");
  patch("/api/pipelines/te%73t/stages/source?x=y", "{\"gain\": 1}");
  EXPECT_EQ(service_.locked()->asked, "test|source|{\"gain\": 1}");
  EXPECT_THAT(ask(request("POST", "/api/reload")), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(service_.reloads, 1);
  EXPECT_THAT(ask("PATCH /api/stages/window HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3\r\n{\"b\r\n5\r\n\": 2}\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(service_.locked()->asked, "|window|{\"b\": 2}");
}

TEST_F(Door, TheLogSaysWhoChangesSomething) {
  const auto before = log::lines_after(0, 1);
  patch("/api/stages/window", "{\"past\": 7}");
  ask(request("POST", "/api/reload"));
  std::vector<std::string> lines;
  for (const log::Line& line : log::lines_after(before.empty() ? 0 : before.back().number, 100))
    lines.push_back(line.text);
  EXPECT_THAT(lines, ::testing::IsSupersetOf({"http: 127.0.0.1 set done", "http: 127.0.0.1 asked for a reload"}));
}

TEST_F(Door, WhatBecameOfAChangeIsToldByTheStatus) {
  const auto status = [&](ChangeReport::Result result) {
    service_.locked()->report = {result, {"why"}};
    return patch("/api/stages/window", "{}");
  };
  EXPECT_THAT(status(ChangeReport::Result::refused), StartsWith("HTTP/1.1 422 "));
  EXPECT_EQ(json_of(status(ChangeReport::Result::refused)), nlohmann::json({{"problems", {"why"}}}));
  EXPECT_THAT(status(ChangeReport::Result::unknown), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(status(ChangeReport::Result::busy), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(status(ChangeReport::Result::busy), HasSubstr("Retry-After: 1\r\n"));
}

TEST_F(Door, WhatIsNoRequestOfOurs) {
  EXPECT_THAT(get("/nope"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("/metrics/"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(patch("/api/stages/", "{}"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(patch("/api/stages/a/b", "{}"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(request("DELETE", "/metrics")), HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_THAT(ask(request("GET", "/api/reload")), HasSubstr("Allow: POST\r\n"));
  EXPECT_THAT(ask("BREW /pot HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 4"));
  EXPECT_THAT(ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.0 400 "));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nX: " + std::string(20000, 'a') + "\r\n\r\n"), HasSubstr(" 400 "));
  EXPECT_EQ(service_.locked()->asked, "");
}

TEST_F(Door, BodiesThatAreNoKeys) {
  for (const char* body :
       {"nonsense", "[1]", "1", "\"a\"", "null", "{", "{\"a\": 1} x", "{\"a\": \"\xff\"}", "{'a': 1}"})
    EXPECT_THAT(patch("/api/stages/window", body), StartsWith("HTTP/1.1 400 ")) << body;
  EXPECT_THAT(ask(request("PATCH", "/api/stages/window")), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(service_.locked()->asked, "");
}

TEST_F(Door, ABodyMayHave64KiB) {
  const std::string most = "{\"a\": \"" + std::string(65536 - 9, 'x') + "\"}";
  EXPECT_THAT(patch("/api/stages/window", most), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(patch("/api/stages/window", most + " "), StartsWith("HTTP/1.1 413 "));
  // Refused by its Content-Length, before any of the body has arrived.
  EXPECT_THAT(ask("PATCH /api/stages/window HTTP/1.1\r\nContent-Length: 1000000000000\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  std::string chunks = "PATCH /api/stages/window HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 70; ++i) chunks += "400\r\n" + std::string(1024, ' ') + "\r\n";
  EXPECT_THAT(ask(chunks), StartsWith("HTTP/1.1 413 "));
}

TEST_F(Door, NamesThatAreNoTextComeBackAsText) {
  service_.locked()->report = {ChangeReport::Result::unknown, {"no stage '\xff\xfe'"}};
  const std::string answer = patch("/api/stages/%ff%fe", "{}");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 "));
  EXPECT_NO_THROW(json_of(answer));
}

TEST_F(Door, AServiceThatThrowsIsAnAnswerToo) {
  struct Broken : testing::FakeService {
    std::vector<PipelineStatus> statuses() const override { throw std::runtime_error("no"); }
  } broken;
  const HttpDoor door(broken, spec_of());
  EXPECT_THAT(testing::ask(door.address().port, request("GET", "/metrics")), StartsWith("HTTP/1.1 500 "));
}

TEST_F(Door, OtherSitesAreTurnedAway) {
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), StartsWith("HTTP/1.1 421 "));
  EXPECT_THAT(ask(request("POST", "/api/reload", "Origin: http://evil.example\r\n")), StartsWith("HTTP/1.1 403 "));
  EXPECT_EQ(service_.reloads, 0);
}

/// Slow and silent clients, and clients that never read or never stop sending, more than there are threads.
TEST_F(Door, WhoIsSlowKeepsNobodyElseWaiting) {
  const std::string many_requests = [] {
    std::string text;
    for (int i = 0; i < 300; ++i) text += request("GET", "/metrics");
    return text;
  }();
  std::vector<std::unique_ptr<HttpClient>> crowd;
  for (int i = 0; i < 20; ++i)
    for (const std::string& start :
         {std::string(), std::string("GET / HT"), request("PATCH", "/api/stages/x", "Content-Length: 100\r\n"),
          request("PATCH", "/api/stages/x", "Content-Length: 999999999\r\n"), many_requests}) {
      crowd.push_back(std::make_unique<HttpClient>(port()));
      crowd.back()->send(start);
    }
  for (int i = 0; i < 20; ++i) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 "));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  }
}

TEST_F(Door, AThousandHalfRequestsKeepNobodyOut) {
  std::vector<std::unique_ptr<HttpClient>> crowd;
  for (int i = 0; i < 1000; ++i) {
    crowd.push_back(std::make_unique<HttpClient>(port()));
    ASSERT_TRUE(crowd.back()->connected()) << i;
    crowd.back()->send("GET /metrics HTTP/1.1\r\nHost: ");
    if (i % 100 != 99) continue;
    const auto began = std::chrono::steady_clock::now();
    EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 "));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  }
}

/// A request that waits for its answer does not count as hanging, and others are answered meanwhile.
TEST(HttpDoor, WhoWaitsForAnAnswerIsNotPutOut) {
  struct Slow : testing::FakeService {
    ChangeReport reload() override {
      std::this_thread::sleep_for(std::chrono::milliseconds(2500));
      return report;
    }
  } slow;
  const HttpDoor door(slow, spec_of());
  HttpClient waits(door.address().port);
  waits.send(request("POST", "/api/reload"));
  std::vector<std::unique_ptr<HttpClient>> crowd;
  for (int i = 0; i < 600; ++i) crowd.push_back(std::make_unique<HttpClient>(door.address().port));
  EXPECT_THAT(testing::ask(door.address().port, request("GET", "/api/status")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(waits.receive(), StartsWith("HTTP/1.1 200 "));
}

/// All descriptors are used up: no new connection is possible, and the open ones are served.
TEST_F(Door, WithoutDescriptorsItGoesOn) {
  HttpClient before(port());
  before.send(request("GET", "/healthz"));
  EXPECT_THAT(before.receive(), StartsWith("HTTP/1.1 200 "));
  {
    const FewDescriptors few(1);
    HttpClient comes(port());
    EXPECT_TRUE(comes.drain(5000)) << "it is disconnected";
  }
  EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(Door, ABodyThatTricklesIsCutOff) {
  HttpClient client(port());
  client.send(request("PATCH", "/api/stages/x", "Content-Length: 1000\r\n"));
  std::atomic<bool> stop = false;
  std::thread drip([&] {
    while (!stop && client.send("1")) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  });
  const std::string answer = client.receive(20000);
  stop = true;
  drip.join();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(service_.locked()->asked, "");
}

TEST_F(Door, ABodyThatDoesNotComeWhole) {
  HttpClient client(port());
  client.send(request("PATCH", "/api/stages/x", "Content-Length: 1000\r\n"));
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 408 ")) << "it stays silent";
  HttpClient ended(port());
  ended.send(request("PATCH", "/api/stages/x", "Content-Length: 1000\r\n") + "{}");
  ended.end();
  EXPECT_THAT(ended.receive(), StartsWith("HTTP/1.1 400 ")) << "it has closed";
  EXPECT_EQ(service_.locked()->asked, "");
}

TEST(HttpDoor, AClosedDoorAnswersNoMore) {
  testing::FakeService service;
  auto door = std::make_unique<HttpDoor>(service, spec_of());
  const int port = door->address().port;
  HttpClient silent(port);
  HttpClient open(port);
  open.send(request("GET", "/healthz"));
  EXPECT_THAT(open.receive(), StartsWith("HTTP/1.1 200"));
  const auto began = std::chrono::steady_clock::now();
  door.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  EXPECT_FALSE(HttpClient(port).connected());
}

TEST(HttpDoor, APortThatIsTakenIsNamed) {
  testing::FakeService service;
  const HttpDoor first(service, spec_of());
  try {
    const HttpDoor second(service, spec_of(first.address().text()));
    FAIL() << "two servers on one port";
  } catch (const SetupError& e) {
    EXPECT_THAT(e.what(), HasSubstr(first.address().text()));
    EXPECT_THAT(e.what(), HasSubstr("in use"));
  }
  EXPECT_THROW(HttpDoor(service, spec_of("nowhere")), UsageError);
}

TEST(HttpDoor, TokensOverTheWire) {
  const std::string path = std::filesystem::temp_directory_path() / fmt::format("iqd-token-{}", ::getpid());
  std::ofstream(path) << "0123456789abcdef\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  testing::FakeService service;
  const HttpDoor door(service, spec_of("127.0.0.1:0", path));
  std::filesystem::remove(path);
  const auto reload = [&](std::string_view header) {
    return testing::ask(door.address().port, request("POST", "/api/reload", header));
  };
  EXPECT_THAT(reload(""), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(reload(""), HasSubstr("WWW-Authenticate: Bearer"));
  EXPECT_THAT(reload("Authorization: Bearer 0123456789abcdeF\r\n"), StartsWith("HTTP/1.1 401 "));
  EXPECT_EQ(service.reloads, 0);
  EXPECT_THAT(reload("Authorization: Bearer 0123456789abcdef\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(service.reloads, 1);
  EXPECT_THAT(testing::ask(door.address().port, request("GET", "/api/status")), StartsWith("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace iqd
