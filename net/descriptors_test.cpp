// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/descriptors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "net/handles.hpp"
#include "tests/support/few_descriptors.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::net {
namespace {

using ::testing::HasSubstr;

/// A soft limit during its lifetime.
class Limit {
 public:
  explicit Limit(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{most, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~Limit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  rlimit before_{};
};

rlim_t limit_now() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

/// A listener on loopback, and clients that connect to it.
class Listener {
 public:
  Listener() : file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(file_, address(), sizeof at_);
    socklen_t size = sizeof at_;
    ::getsockname(file_, address(), &size);
    ::listen(file_, 100);
  }
  ~Listener() {
    ::close(file_);
    for (const int file : knocking_) ::close(file);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// With descriptors outside the shares.
  void knock(int times = 1) {
    for (int i = 0; i < times; ++i) {
      const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      knocking_.push_back(::fcntl(file, F_DUPFD_CLOEXEC, 400));
      ::close(file);
      ASSERT_EQ(::connect(knocking_.back(), address(), sizeof at_), 0);
    }
  }
  int accept() const { return ::accept4(file_, nullptr, nullptr, SOCK_CLOEXEC); }
  int accept_control() const {
    int came = -1;
    const ControlPort control(ntohs(at_.sin_port), [&](int file, const std::string&) { came = file; });
    const int file = accept();
    EXPECT_EQ(came, file);
    return file;
  }
  bool is_closed(std::size_t i) const {
    pollfd file{knocking_[i], POLLIN, 0};
    return ::poll(&file, 1, 2000) == 1;
  }

 private:
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&at_); }
  int file_;
  sockaddr_in at_{};
  std::vector<int> knocking_;
};

TEST(Descriptors, TheLimitIsRaisedToWhatIsAllowed) {
  const Limit low(64);
  raise_descriptor_limit();
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, 65536));
  const rlim_t before = limit.rlim_cur;
  raise_descriptor_limit();
  EXPECT_EQ(limit_now(), before);
}

TEST(Descriptors, ConnectionsGetTheUpperHalf) {
  Listener listener;
  listener.knock(2);
  const Limit limit(200);
  EXPECT_EQ(own_descriptors(), 100);
  EXPECT_EQ(control_descriptors(), 25);
  const int file = listener.accept();
  EXPECT_GE(file, 125);
  EXPECT_EQ(::fcntl(file, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::send(file, "x", 1, 0), 1) << "it is this connection";
  ::close(file);
  const int control = listener.accept_control();
  EXPECT_GE(control, 100);
  EXPECT_LT(control, 125);
  ::close(control);
}

TEST(Descriptors, AControlConnectionEndsWhenItsPeerHasVanished) {
  Listener listener;
  listener.knock(2);
  const auto timeout_ms = [](int file) {
    unsigned ms = 0;
    socklen_t size = sizeof ms;
    EXPECT_EQ(::getsockopt(file, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &size), 0);
    ::close(file);
    return ms;
  };
  EXPECT_EQ(timeout_ms(listener.accept_control()), 10'000U);
  EXPECT_EQ(timeout_ms(listener.accept()), 0U) << "of others, libzmq decides";
}

TEST(Descriptors, OfManyAThousandAreKept) {
  if (limit_now() < 8192) GTEST_SKIP() << "this machine's limit is too low";
  EXPECT_EQ(own_descriptors(), 1024);
  EXPECT_EQ(control_descriptors(), 512);
}

TEST(Descriptors, WhoComesWhenPeersHaveAllOfTheirsIsSentAway) {
  Listener listener;
  listener.knock(50);
  const Limit limit(120);
  std::vector<int> let_in;
  const std::uint64_t before = connections_refused();
  for (int i = 0; i < 45; ++i) let_in.push_back(listener.accept());
  EXPECT_EQ(let_in.front(), 75);
  EXPECT_EQ(let_in.back(), 119);
  EXPECT_EQ(listener.accept(), -1);
  EXPECT_EQ(errno, ECONNABORTED);
  EXPECT_EQ(connections_refused(), before + 1);
  EXPECT_TRUE(listener.is_closed(45));
  EXPECT_NO_THROW(FreeDescriptors(30)) << "own share";
  let_in.push_back(listener.accept_control());
  EXPECT_EQ(let_in.back(), 60) << "control share";
  ::close(let_in[44]);
  let_in[44] = listener.accept();
  EXPECT_EQ(let_in[44], 119) << "descriptors are free again";
  for (const int file : let_in) ::close(file);
}

/// Otherwise libzmq would poll forever, or end the process.
TEST(Descriptors, WithoutAnyDescriptorAWaitingPeerIsSentAway) {
  Listener listener;
  listener.knock(2);
  listener.accept();  // creates the gate's spare
  const std::uint64_t before = connections_refused();
  const FewDescriptors none;
  EXPECT_EQ(listener.accept(), -1);
  EXPECT_EQ(errno, ECONNABORTED);
  EXPECT_EQ(connections_refused(), before + 1);
  EXPECT_TRUE(listener.is_closed(1));
}

TEST(Descriptors, AnAcceptThatWaitsKeepsNobodyOut) {
  Listener quiet, busy;
  std::thread waits([&] { ::close(quiet.accept()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  busy.knock();
  const int file = busy.accept();
  EXPECT_GE(file, 0);
  ::close(file);
  EXPECT_NO_THROW(FreeDescriptors(8));
  quiet.knock();
  waits.join();
}

TEST(Descriptors, WhatIsNeededIsAskedFor) {
  EXPECT_NO_THROW(FreeDescriptors(8));
  const FewDescriptors few(7);
  EXPECT_NO_THROW(FreeDescriptors(7));
  EXPECT_NO_THROW(FreeDescriptors(7)) << "they were released";
  try {
    const FreeDescriptors needed(8);
    FAIL();
  } catch (const SetupError& e) {
    EXPECT_THAT(e.what(), HasSubstr("8 descriptors are needed and 7 are left"));
  }
  require_threads(4);
}

/// libzmq 4.3 aborts if its threads get no descriptors, so with any number of them something must throw before.
TEST(Descriptors, AContextIsMadeOrRefused) {
  for (int left = 0; left < 64; ++left) {
    const FewDescriptors few(left);
    bool made = false;
    try {
      const Context context = make_context();
      const SocketHandle socket(::zmq_socket(context.get(), ZMQ_PUB));
      made = socket != nullptr;
    } catch (const SetupError&) {
    }
    EXPECT_EQ(made, left >= 24) << left;
  }
}

/// libzmq's own accept at ipc:// ends the process without descriptors.
TEST(Descriptors, AnIpcSocketOutlivesTheirEnd) {
  const ScratchFolder folder;
  const std::string path = folder / "s";
  const Context context = make_context();
  const SocketHandle socket(::zmq_socket(context.get(), ZMQ_PUB));
  ASSERT_EQ(::zmq_bind(socket.get(), ("ipc://" + path).c_str()), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  const int peer = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  {
    const FewDescriptors none;
    ASSERT_EQ(::connect(peer, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    pollfd file{peer, POLLIN, 0};
    EXPECT_EQ(::poll(&file, 1, 5000), 1) << "the connection is closed";
  }
  ::close(peer);
}

}  // namespace
}  // namespace iqd::net
