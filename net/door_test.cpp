// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/door.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "net/keys.hpp"
#include "tests/support/hostile_peer.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::net {
namespace {

using iqd::testing::HostilePeer;

constexpr std::int64_t kPatienceNs = 40'000'000'000;
constexpr std::int64_t kMessageBytes = 512;

template <class Ready> bool soon(Ready ready) {
  for (const std::int64_t ends = steady_ns() + kPatienceNs; steady_ns() < ends;) {
    if (ready()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

/// A socket with a context of its own.
struct Side {
  explicit Side(int type) : context(::zmq_ctx_new()), socket(::zmq_socket(context.get(), type)) {
    const int none = 0;
    ::zmq_setsockopt(socket.get(), ZMQ_LINGER, &none, sizeof none);
  }
  Context context;
  SocketHandle socket;
};

/// A publisher with a door, and a lab's keys.
class DoorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"lab", "bob", "eve"}) write_key_files(folder_.path(), name, false);
    allow("bob");
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  /// Makes this the only key on the list.
  void allow(const std::string& who) { folder_.write("list", read_public_key(path(who + ".pub")) + "\n"); }

  void open(const std::string& allow_what) {
    Access access;
    access.curve = !allow_what.empty();
    access.secret = path("lab.secret");
    access.allow = allow_what;
    open(access);
  }
  void open(const Access& access) {
    server_.emplace(ZMQ_PUSH);
    door_ = std::make_unique<Door>(server_->context.get(), server_->socket.get(), access, true, "test", kMessageBytes);
    ASSERT_EQ(::zmq_bind(server_->socket.get(), "tcp://127.0.0.1:*"), 0);
    std::array<char, 64> endpoint{};
    std::size_t size = endpoint.size();
    ::zmq_getsockopt(server_->socket.get(), ZMQ_LAST_ENDPOINT, endpoint.data(), &size);
    endpoint_ = endpoint.data();
  }
  void TearDown() override { door_.reset(); }

  std::unique_ptr<Side> client(const std::string& who, const std::string& server = "lab") {
    auto peer = std::make_unique<Side>(ZMQ_PULL);
    if (!who.empty()) {
      const std::string secret = read_secret_key(path(who + ".secret"));
      const std::string own = public_key_of(secret), theirs = read_public_key(path(server + ".pub"));
      ::zmq_setsockopt(peer->socket.get(), ZMQ_CURVE_SECRETKEY, secret.c_str(), 41);
      ::zmq_setsockopt(peer->socket.get(), ZMQ_CURVE_PUBLICKEY, own.c_str(), 41);
      ::zmq_setsockopt(peer->socket.get(), ZMQ_CURVE_SERVERKEY, theirs.c_str(), 41);
    }
    ::zmq_connect(peer->socket.get(), endpoint_.c_str());
    return peer;
  }
  bool reads(const Side& peer) {
    ::zmq_send(server_->socket.get(), "hello", 5, ZMQ_DONTWAIT);
    zmq_pollitem_t item{peer.socket.get(), 0, ZMQ_POLLIN, 0};
    return ::zmq_poll(&item, 1, 200) == 1;
  }
  void expect_refused(const Side& peer, const char* what) {
    const std::uint64_t before = door_->handshake_failures();
    EXPECT_TRUE(soon([&] { return door_->handshake_failures() > before; })) << what;
    EXPECT_FALSE(reads(peer)) << what;
    EXPECT_EQ(door_->connected(), 0) << what;
  }
  /// A plain TCP connection that sends `bytes`.
  int knock(const std::string& bytes) const {
    const int file = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint_.substr(endpoint_.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(file, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    say(file, bytes);
    return file;
  }
  static void say(int file, const std::string& bytes) {
    EXPECT_EQ(::send(file, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  /// Whether `word`, which is published, arrives before the connection ends.
  bool hears(int file, const std::string& word) {
    const timeval patience{0, 50'000};
    ::setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string all, some(256, '\0');
    for (const std::int64_t ends = steady_ns() + kPatienceNs; steady_ns() < ends;) {
      ::zmq_send(server_->socket.get(), word.data(), word.size(), ZMQ_DONTWAIT);
      const ssize_t n = ::recv(file, some.data(), some.size(), 0);
      if (n == 0 || (n < 0 && errno != EAGAIN)) return false;
      if (n > 0) all.append(some.data(), static_cast<std::size_t>(n));
      if (all.find(word) != std::string::npos) return true;
    }
    return false;
  }

  ScratchFolder folder_;
  std::optional<Side> server_;
  std::unique_ptr<Door> door_;
  std::string endpoint_;
};

TEST_F(DoorTest, WhoIsOnTheListComesIn) {
  open(path("list"));
  EXPECT_FALSE(door_->reached());
  auto bob = client("bob");
  EXPECT_TRUE(soon([&] { return door_->connected() == 1; }));
  EXPECT_TRUE(reads(*bob));
  EXPECT_TRUE(door_->reached());
  bob.reset();
  EXPECT_TRUE(soon([&] { return door_->connected() == 0; }));
  EXPECT_EQ(door_->handshake_failures(), 0u);
}

TEST_F(DoorTest, WhoIsNotReadsNothingAndIsCounted) {
  open(path("list"));
  expect_refused(*client("eve"), "a key that is not on the list");
  expect_refused(*client(""), "no key");
  // Last, because it retries ten times a second, and may be counted once more after it is gone.
  expect_refused(*client("bob", "eve"), "another server's key");
  const auto bob = client("bob");
  EXPECT_TRUE(soon([&] { return door_->connected() == 1; }));
  EXPECT_TRUE(reads(*bob));
}

TEST_F(DoorTest, AListThatChangesCountsAtOnceForThoseWhoCome) {
  open(path("list"));
  const auto eve = client("eve");
  EXPECT_TRUE(soon([&] { return door_->handshake_failures() > 0; }));
  allow("eve");
  EXPECT_TRUE(soon([&] { return reads(*eve); })) << "she retries on her own";
  EXPECT_EQ(door_->connected(), 1);
  allow("bob");
  EXPECT_TRUE(reads(*eve)) << "an existing connection stays";
}

TEST_F(DoorTest, ABrokenListLetsNobodyIn) {
  open(path("list"));
  folder_.write("list", "this is no key\n");
  auto bob = client("bob");
  EXPECT_TRUE(soon([&] { return door_->handshake_failures() > 0; }));
  EXPECT_FALSE(reads(*bob));
  allow("bob");
  EXPECT_TRUE(soon([&] { return reads(*bob); })) << "the list is fixed";
}

TEST_F(DoorTest, AnybodyMeansAnybodyWithKeys) {
  open(std::string(kAnybody));
  expect_refused(*client(""), "no key");
  const auto eve = client("eve");
  EXPECT_TRUE(soon([&] { return reads(*eve); }));
}

/// Peers of ZMTP 1 and 2 have no keys. A publisher without keys accepts them.
TEST_F(DoorTest, OldProtocolsDoNotGetRound) {
  const std::string version_1("\x01\x00", 2);
  const std::string version_2("\xff\0\0\0\0\0\0\0\x01\x7f\x01\x07\0\0", 14);
  for (const std::string& what : {std::string(), path("list"), std::string(kAnybody)}) {
    open(what);
    for (const std::string& greeting : {version_1, version_2}) {
      const int file = knock(greeting);
      EXPECT_EQ(hears(file, "hello"), what.empty()) << what;
      ::close(file);
    }
    if (!what.empty()) {
      EXPECT_TRUE(soon([&] { return door_->handshake_failures() == 2; })) << what;
    }
    door_.reset();
  }
}

TEST_F(DoorTest, AFloodOfRubbishHoldsUpNobody) {
  open(path("list"));
  const auto bob = client("bob");
  ASSERT_TRUE(soon([&] { return reads(*bob); }));
  constexpr int kMany = 200;
  std::vector<int> files;
  for (int i = 0; i < kMany; ++i)
    files.push_back(knock(std::string(static_cast<std::size_t>(1 + i), static_cast<char>(i))));
  EXPECT_TRUE(reads(*bob));
  for (const int file : files) ::close(file);
  EXPECT_TRUE(soon([&] { return door_->handshake_failures() >= kMany; })) << door_->handshake_failures();
  EXPECT_TRUE(soon([&] { return door_->connected() == 1; }));
  EXPECT_TRUE(reads(*bob));
}

TEST_F(DoorTest, WithoutKeysItCountsAsWell) {
  open("");
  expect_refused(*client("bob"), "keys where there are none");
  const auto plain = client("");
  EXPECT_TRUE(soon([&] { return reads(*plain); }));
  EXPECT_TRUE(soon([&] { return door_->connected() == 1; }));
}

/// Nine bytes that announce two gigabytes.
TEST_F(DoorTest, WhoAnnouncesTooMuchIsCutOff) {
  open("");
  const HostilePeer peer(endpoint_, "PULL");
  ASSERT_TRUE(soon([&] { return door_->connected() == 1; }));
  peer.say(HostilePeer::announcement(std::uint64_t{2} << 30));
  EXPECT_TRUE(soon([&] { return peer.is_cut_off(); }));
  EXPECT_TRUE(soon([&] { return door_->cut_off() == 1; }));
  EXPECT_EQ(door_->handshake_failures(), 0u);

  const HostilePeer again(endpoint_, "PULL");
  EXPECT_TRUE(soon([&] { return again.is_cut_off(); })) << "it is refused for a second";
  const auto leaves = client("");
  EXPECT_TRUE(soon([&] { return reads(*leaves); })) << "after that it may connect again";
  leaves->socket.reset();
  EXPECT_TRUE(soon([&] { return door_->connected() == 0; }));
  EXPECT_EQ(door_->cut_off(), 1u) << "a peer that leaves is not cut off";
}

TEST_F(DoorTest, WhoAnnouncesTooMuchBeforeTheHandshakeIsCutOff) {
  open("");
  const int file = knock(std::string("\xff\0\0\0\0\0\0\0\0\x7f\x03\0NULL", 16) + std::string(48, '\0'));
  ASSERT_TRUE(soon([&] { return door_->reached(); })) << "before that the peer is unknown";
  say(file, "\x06" + HostilePeer::announcement(std::uint64_t{2} << 30).substr(1));
  EXPECT_TRUE(soon([&] { return door_->cut_off() == 1; }));
  ::close(file);
}

TEST_F(DoorTest, TheOtherSideHasADoorToo) {
  open(path("list"));
  Access access;
  access.curve = true;
  access.secret = path("bob.secret");
  access.server = path("lab.pub");
  Side bob(ZMQ_PULL);
  Door his(bob.context.get(), bob.socket.get(), access, false, "test", kMessageBytes);
  EXPECT_FALSE(his.reached());
  ::zmq_connect(bob.socket.get(), endpoint_.c_str());
  EXPECT_TRUE(soon([&] { return his.connected() == 1; }));
  EXPECT_TRUE(reads(bob));
}

TEST_F(DoorTest, FilesThatAreWrongAreToldAtTheStart) {
  const auto refusal = [&](Access access) -> std::string {
    access.curve = true;
    Side peer(ZMQ_PUSH);
    try {
      const Door door(peer.context.get(), peer.socket.get(), access, true, "test", kMessageBytes);
    } catch (const SetupError& e) {
      return e.what();
    }
    return "none";
  };
  Access access;
  access.secret = path("none");
  access.allow = path("list");
  EXPECT_THAT(refusal(access), ::testing::AllOf(::testing::StartsWith("test: "), ::testing::HasSubstr("No such file")));
  access.secret = path("lab.secret");
  access.allow = path("none");
  EXPECT_THAT(refusal(access), ::testing::HasSubstr("No such file"));
  access.allow = path("list");
  EXPECT_EQ(refusal(access), "none");
}

}  // namespace
}  // namespace iqd::net
