// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/binding.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "net/handles.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::net {
namespace {

namespace fs = std::filesystem;

/// A socket as iqd uses it.
struct Bound {
  int bind(const std::string& endpoint) { return binding.bind(socket.get(), endpoint); }
  Binding binding;
  Context context = make_context();
  SocketHandle socket{::zmq_socket(context.get(), ZMQ_PUSH)};
};

class BindingTest : public ::testing::Test {
 protected:
  /// Leaves a socket file without a listener, as a killed program does.
  void leave_stale_file() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    const int file = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(file, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::listen(file, 1);
    ::close(file);
    ASSERT_TRUE(fs::exists(path_));
  }
  ScratchFolder folder_;
  const std::string path_ = folder_ / "socket";
  const std::string endpoint_ = "ipc://" + path_;
};

TEST_F(BindingTest, TheSecondIsRefusedAndTheFirstGoesOn) {
  Bound first;
  ASSERT_EQ(first.bind(endpoint_), 0);
  for (int i = 0; i < 3; ++i) {
    Bound second;
    EXPECT_EQ(second.bind(endpoint_), -1);
    EXPECT_EQ(::zmq_errno(), EADDRINUSE);
  }
  EXPECT_TRUE(fs::exists(path_)) << "the file is not the second socket's";
  const Context context = make_context();
  const SocketHandle reader(::zmq_socket(context.get(), ZMQ_PULL));
  set_option(reader.get(), ZMQ_RCVTIMEO, 10'000);
  ASSERT_EQ(::zmq_connect(reader.get(), endpoint_.c_str()), 0);
  ASSERT_EQ(::zmq_send(first.socket.get(), "x", 1, 0), 1);
  char got = 0;
  EXPECT_EQ(::zmq_recv(reader.get(), &got, 1, 0), 1);
}

TEST_F(BindingTest, TheFileGoesWithTheSocket) {
  {
    Bound bound;
    ASSERT_EQ(bound.bind(endpoint_), 0);
    EXPECT_TRUE(fs::exists(path_));
  }
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(BindingTest, WhatAKillLeftIsInNobodysWay) {
  leave_stale_file();
  Bound bound;
  EXPECT_EQ(bound.bind(endpoint_), 0);
}

TEST_F(BindingTest, AFileThatIsNoSocketStays) {
  folder_.write("socket", "samples");
  Bound bound;
  EXPECT_EQ(bound.bind(endpoint_), -1);
  EXPECT_EQ(::zmq_errno(), EEXIST);
  EXPECT_EQ(fs::file_size(path_), 7u);
}

TEST_F(BindingTest, OfManyAtOnceOneIsBound) {
  for (int round = 0; round < 5; ++round) {
    leave_stale_file();
    std::vector<std::optional<Bound>> all(4);
    for (auto& b : all) b.emplace();
    std::atomic<int> bound = 0;
    {
      std::vector<std::jthread> threads;
      for (auto& b : all)
        threads.emplace_back([&] {
          if (b->bind(endpoint_) == 0) ++bound;
        });
    }
    EXPECT_EQ(bound, 1);
  }
}

TEST_F(BindingTest, AProcessThatEndsAtOnceCanTidyUp) {
  std::optional<Bound> bound(std::in_place);
  ASSERT_EQ(bound->bind(endpoint_), 0);
  remove_bound_files();
  EXPECT_FALSE(fs::exists(path_));
  // The file that replaced it belongs to somebody else.
  leave_stale_file();
  remove_bound_files();
  bound.reset();
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(BindingTest, OtherAddressesAreAsEver) {
  Bound tcp;
  EXPECT_EQ(tcp.bind("tcp://127.0.0.1:*"), 0);
  Bound abstract;
  EXPECT_EQ(abstract.bind("ipc://@" + path_), 0);
  Bound second;
  EXPECT_EQ(second.bind("ipc://@" + path_), -1);
  EXPECT_EQ(::zmq_errno(), EADDRINUSE);
  Bound nowhere;
  EXPECT_EQ(nowhere.bind("ipc:///nowhere/at/all"), -1);
  EXPECT_EQ(::zmq_errno(), ENOENT);
}

}  // namespace
}  // namespace iqd::net
