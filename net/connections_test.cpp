// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/connections.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <vector>

#include "net/key_check.hpp"

namespace iqd::net {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

/// Both ends of a connection: ours, which libzmq would have, and the peer's.
class Wire {
 public:
  Wire() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  ~Wire() {
    for (const int end : ends_) ::close(end);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  int ours() const { return ends_[0]; }
  std::uint32_t file() const { return static_cast<std::uint32_t>(ends_[0]); }
  void hang_up() const { ::shutdown(ends_[1], SHUT_WR); }
  bool is_cut_off() const {
    char byte = 0;
    return ::recv(ends_[1], &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

class ConnectionsTest : public ::testing::Test {
 protected:
  void tell(int kind, std::uint32_t value = 0, std::int64_t now_ns = 0) {
    connections_.take({static_cast<std::uint16_t>(kind), value}, now_ns);
  }
  void comes(const Wire& wire, std::int64_t now_ns = 0) { tell(ZMQ_EVENT_ACCEPTED, wire.file(), now_ns); }
  void goes(const Wire& wire, std::int64_t now_ns = 0) { tell(ZMQ_EVENT_DISCONNECTED, wire.file(), now_ns); }

  DoorLog log_{"test"};
  Connections connections_{true, 512, log_};
  Wire bob_, eve_;
};

TEST_F(ConnectionsTest, APeerIsConnectedFromItsHandshakeToItsEnd) {
  EXPECT_FALSE(connections_.reached());
  comes(bob_);
  EXPECT_TRUE(connections_.reached());
  EXPECT_EQ(connections_.connected(0), 0);
  EXPECT_EQ(connections_.connected(7 * kSecondNs), 1) << "no handshake lasts that long";
  tell(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  EXPECT_EQ(connections_.connected(0), 1);
  bob_.hang_up();
  goes(bob_);
  EXPECT_EQ(connections_.connected(0), 0);
  EXPECT_EQ(connections_.departures(), 1u);
  EXPECT_EQ(connections_.cut_off(), 0u);
  EXPECT_EQ(connections_.handshake_failures(), 0u);
}

TEST_F(ConnectionsTest, AHandshakeFailsOnce) {
  comes(eve_);
  tell(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC);
  EXPECT_EQ(connections_.handshake_failures(), 0u) << "the connection's end follows";
  goes(eve_);
  EXPECT_EQ(connections_.handshake_failures(), 1u);
  comes(eve_);
  tell(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, KeyCheck::kTryAgain);
  EXPECT_EQ(connections_.handshake_failures(), 2u) << "refused by the list";
  goes(eve_);
  comes(eve_);
  goes(eve_);
  EXPECT_EQ(connections_.handshake_failures(), 3u) << "an old protocol, for which there is no event";
  EXPECT_EQ(connections_.departures(), 0u);
  EXPECT_EQ(connections_.cut_off(), 0u);
}

TEST_F(ConnectionsTest, TheSideThatConnectsLearnsWhyItIsNotConnected) {
  EXPECT_FALSE(connections_.facts().reached);
  const auto fails = [&](int kind, std::uint32_t value) {
    comes(bob_);
    tell(kind, value);
    goes(bob_);
    return connections_.facts().fault;
  };
  EXPECT_EQ(fails(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, 0), HandshakeFault::hung_up);
  EXPECT_EQ(fails(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH),
            HandshakeFault::mechanism);
  EXPECT_EQ(fails(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_METADATA),
            HandshakeFault::socket_kind);
  EXPECT_EQ(fails(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, 0), HandshakeFault::socket_kind) << "the reason stays known";
  EXPECT_EQ(connections_.facts().handshakes, 0u);
  comes(bob_);
  tell(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  bob_.hang_up();
  goes(bob_);
  EXPECT_EQ(connections_.facts().handshakes, 1u);
  EXPECT_EQ(connections_.facts().departures, 1u);
}

TEST_F(ConnectionsTest, AnInvalidEventChangesNothing) {
  comes(bob_);
  tell(0, 7);
  tell(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  goes(bob_);
  EXPECT_EQ(connections_.handshake_failures(), 0u);
}

/// libzmq does not report why it closed a connection.
TEST_F(ConnectionsTest, APeerThatDidNotHangUpWasCutOff) {
  comes(bob_);
  tell(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  goes(bob_, 5 * kSecondNs);
  EXPECT_EQ(connections_.cut_off(), 1u);

  comes(eve_, 6 * kSecondNs - 1);
  EXPECT_TRUE(eve_.is_cut_off()) << "its host is refused for a second";
  goes(eve_, 6 * kSecondNs - 1);
  EXPECT_EQ(connections_.cut_off(), 1u);
  EXPECT_EQ(connections_.handshake_failures(), 0u) << "it had none";
  const Wire later;
  comes(later, 6 * kSecondNs);
  EXPECT_FALSE(later.is_cut_off());
}

TEST_F(ConnectionsTest, TheReaderWithTheMostSubscriptionsIsCutOff) {
  std::vector<std::unique_ptr<Wire>> readers;
  const auto subscribe = [&](std::size_t reader, int number, std::size_t bytes) {
    std::string message = "\x01" + std::to_string(number);
    message.resize(bytes, 'x');
    connections_.subscribes(readers[reader]->ours(), message, 0);
  };
  for (std::size_t i = 0; connections_.cut_off() == 0 && i < 60; ++i) {
    readers.push_back(std::make_unique<Wire>());
    comes(*readers[i]);
    for (int n = 0; n < 8; ++n) subscribe(i, n, i == 3 ? 500 : 400);
  }
  EXPECT_EQ(connections_.cut_off(), 1u);
  for (std::size_t i = 0; i < readers.size(); ++i) EXPECT_EQ(readers[i]->is_cut_off(), i == 3) << i;
}

TEST_F(ConnectionsTest, AReaderThatHungUpIsForgotten) {
  comes(bob_);
  connections_.forget_if_gone(bob_.ours());
  EXPECT_FALSE(bob_.is_cut_off());
  bob_.hang_up();
  connections_.forget_if_gone(bob_.ours());
  EXPECT_TRUE(bob_.is_cut_off());
  EXPECT_EQ(connections_.cut_off(), 0u) << "it sent nothing wrong";
}

}  // namespace
}  // namespace iqd::net
