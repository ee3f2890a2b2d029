// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/peer_watch.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

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

json first_answer(const PeerWatch& watch) {
  for (int i = 0; i < 2000; ++i) {
    if (const std::string text = watch.text(); !text.empty()) return json::parse(text);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

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
  const json answer = first_answer(watch);
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

TEST(PeerUrl, IsALink) {
  EXPECT_EQ(peer_url("http://lab2:9500/"), "http://lab2:9500/");
  EXPECT_EQ(peer_url("lab2"), "http://lab2:9464/");
  EXPECT_EQ(peer_url("[::1]:80"), "http://[::1]:80/");
  EXPECT_THROW(peer_url("https://lab2"), UsageError);
  EXPECT_THROW(peer_url("javascript:alert(1)"), UsageError);
}

}  // namespace
}  // namespace iqd
