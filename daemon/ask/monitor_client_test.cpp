// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/ask/monitor_client.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "daemon/http/http_door.hpp"
#include "tests/support/fake_service.hpp"

namespace iqd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

MonitorOptions at(const std::string& host, int port) {
  MonitorOptions options;
  options.address = fmt::format("{}:{}", host, port);
  return options;
}

std::string thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const SetupError& e) {
    return e.what();
  }
  return "nothing";
}

class MonitorClients : public ::testing::Test {
 protected:
  static Spec spec() {
    Spec spec;
    spec.listen = "127.0.0.1:0";
    return spec;
  }
  int port() const { return door_.address().port; }
  testing::FakeService service_;
  HttpDoor door_{service_, spec()};
};

TEST_F(MonitorClients, GetAndChange) {
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const MonitorClient client(at(host, port()));
    EXPECT_EQ(client.call("GET", path_of_stage("", "window"))["keys"]["past"]["value"], 100);
    EXPECT_EQ(client.call("PATCH", path_of_stage("te st", "fir 2"), "{\"past\": 1}"), json({{"applied", {"done"}}}));
    EXPECT_EQ(service_.locked()->asked, "te st|fir 2|{\"past\": 1}");
  }
}

TEST_F(MonitorClients, RefusalsHaveTheReasons) {
  const MonitorClient client(at("127.0.0.1", port()));
  service_.locked()->report = {ChangeReport::Result::refused, {"one", "two"}};
  EXPECT_EQ(thrown_by([&] { client.call("PATCH", "/api/stages/window", "{}"); }), "one\n  two");
  EXPECT_THAT(thrown_by([&] { client.call("GET", "/metrics"); }), HasSubstr("none of iqd's"));
}

TEST(MonitorClient, NothingAnswers) {
  int free_port = 0;
  {
    testing::FakeService service;
    Spec spec;
    spec.listen = "127.0.0.1:0";
    free_port = HttpDoor(service, spec).address().port;
  }
  EXPECT_THAT(thrown_by([&] { MonitorClient(at("127.0.0.1", free_port)).ask("GET", "/"); }),
              StartsWith(fmt::format("nothing answers on 127.0.0.1:{}: Connection refused", free_port)));
  EXPECT_THAT(thrown_by([] { MonitorClient(at("no.such.host.invalid", 1)).ask("GET", "/"); }),
              StartsWith("nothing answers on no.such.host.invalid:1: "));
}

/// A server on ::1 that sends this to the first client.
class OneReply {
 public:
  explicit OneReply(std::string reply) : listening_(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    socklen_t size = sizeof address;
    can_listen = ::bind(listening_, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(listening_, 1) == 0;
    ::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin6_port);
    if (can_listen) server_ = std::jthread([this, text = std::move(reply)] { serve(text); });
  }
  ~OneReply() {
    ::shutdown(listening_, SHUT_RDWR);
    if (server_.joinable()) server_.join();
    ::close(listening_);
  }
  OneReply(const OneReply&) = delete;
  OneReply& operator=(const OneReply&) = delete;

  int port = 0;
  bool can_listen = false;

 private:
  void serve(const std::string& text) const {
    const int client = ::accept(listening_, nullptr, nullptr);
    char request[1000];
    if (client < 0 || ::recv(client, request, sizeof request, 0) <= 0) return;
    ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
    ::close(client);
  }
  int listening_;
  std::jthread server_;
};

TEST(MonitorClient, OverIpVersion6) {
  const OneReply server("HTTP/1.1 200 OK\r\n\r\n{\"a\": 1}");
  if (!server.can_listen) GTEST_SKIP() << "this machine has no IPv6";
  EXPECT_EQ(MonitorClient(at("[::1]", server.port)).call("GET", "/"), json({{"a", 1}}));
}

TEST(MonitorClient, OtherServers) {
  for (const auto& [reply, words] : {std::pair{"SSH-2.0-OpenSSH\r\n", "does not answer as an HTTP server"},
                                     {"HTTP/1.1 404 No\r\n\r\n<html>", "none of iqd's"},
                                     {"HTTP/1.1 405 No\r\n\r\n{\"problems\": [\"use PATCH\"]}", "older iqd"},
                                     {"", "gave no answer"}}) {
    const OneReply server(reply);
    if (!server.can_listen) GTEST_SKIP() << "this machine has no IPv6";
    EXPECT_THAT(thrown_by([&, port = server.port] { MonitorClient(at("[::1]", port)).call("GET", "/"); }),
                HasSubstr(words));
  }
}

}  // namespace
}  // namespace iqd
