// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/peer_watch.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.hpp"
#include "daemon/http/http_door.hpp"
#include "tests/support/fake_service.hpp"

namespace iqd {
namespace {

using nlohmann::json;

Spec some_port() {
  Spec spec;
  spec.listen = "127.0.0.1:0";
  spec.page = false;
  return spec;
}

std::string at(int port) {
  return fmt::format("http://127.0.0.1:{}", port);
}

/// As soon as so many peers have answered.
json answers(const PeerWatch& watch, std::ptrdiff_t count) {
  for (int i = 0; i < 2000; ++i) {
    const json all = json::parse(watch.text());
    if (std::ranges::count_if(all, [](const json& peer) { return peer["state"] != "unknown"; }) >= count) return all;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

/// A port at which nobody takes connections.
class DeafPort {
 public:
  DeafPort() : file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof any;
    EXPECT_EQ(::bind(file_, reinterpret_cast<const sockaddr*>(&any), size), 0);
    EXPECT_EQ(::listen(file_, 100), 0);
    ::getsockname(file_, reinterpret_cast<sockaddr*>(&any), &size);
    port_ = ntohs(any.sin_port);
  }
  ~DeafPort() { ::close(file_); }
  DeafPort(const DeafPort&) = delete;
  DeafPort& operator=(const DeafPort&) = delete;
  int port() const { return port_; }

 private:
  int file_;
  int port_ = 0;
};

TEST(PeerWatch, SaysWhoIsReady) {
  testing::FakeService service;
  testing::FakeService slow;
  slow.unready = {"lab: the source is stalled", "lab: no <b>samples</b>"};
  const HttpDoor ready(service, some_port());
  const HttpDoor unready(slow, some_port());
  int free_port = 0;
  {
    const HttpDoor closed(service, some_port());
    free_port = closed.address().port;
  }
  const PeerWatch watch({at(ready.address().port), at(unready.address().port), at(free_port)});
  EXPECT_EQ(json::parse(watch.text()).size(), 3u) << "none has answered yet";
  const json answer = answers(watch, 3);
  ASSERT_EQ(answer.size(), 3u);
  EXPECT_EQ(answer[0], json({{"url", at(ready.address().port) + "/"}, {"state", "ready"}, {"why", ""}}));
  EXPECT_EQ(answer[1]["state"], "not ready");
  EXPECT_EQ(answer[1]["why"], "lab: the source is stalled; lab: no <b>samples</b>");
  EXPECT_EQ(answer[2]["state"], "unreachable");
  EXPECT_EQ(answer[2]["why"], "Connection refused");
}

TEST(PeerWatch, AsksOnlyWhileSomebodyWantsToKnow) {
  const PeerWatch nobody({});
  EXPECT_EQ(nobody.text(), "");
  const auto before = std::chrono::steady_clock::now();
  { const PeerWatch unasked({"127.0.0.1:1"}); }
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(900)) << "it waits for nothing";
}

TEST(PeerWatch, PeersThatDoNotAnswerHoldUpFewOthers) {
  testing::FakeService service;
  const HttpDoor ready(service, some_port());
  const DeafPort deaf;
  std::vector<std::string> peers(7, at(deaf.port()));
  peers.push_back(at(ready.address().port));
  const PeerWatch watch(peers);
  const auto before = std::chrono::steady_clock::now();
  const json answer = answers(watch, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(6)) << "one after another takes 7 s";
  ASSERT_EQ(answer.size(), 8u);
  EXPECT_EQ(answers(watch, 8).at(7)["state"], "ready");
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(6));
}

TEST(PeerWatch, AsksNobodyAfterItIsClosed) {
  testing::FakeService service;
  const HttpDoor ready(service, some_port());
  PeerWatch watch({at(ready.address().port)});
  watch.close();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(json::parse(watch.text())[0]["state"], "unknown");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST(PeerUrl, IsALink) {
  EXPECT_EQ(peer_url("http://lab2:9500/"), "http://lab2:9500/");
  EXPECT_EQ(peer_url("lab2"), "http://lab2:9464/");
  EXPECT_EQ(peer_url("[::1]:80"), "http://[::1]:80/");
  EXPECT_THROW(peer_url("https://lab2"), UsageError);
  EXPECT_THROW(peer_url("javascript:alert(1)"), UsageError);
}

}  // namespace
}  // namespace iqd
