// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "radio/soapy-modules/warp/node/node.hpp"

namespace iqd::warp {
namespace {

/// A node that answers the first request after it has received the second.
TEST(WarpNode, AnAnswerThatComesLateCountsAllTheSame) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in here = endpoint("127.0.0.1", 0), from{};
  socklen_t size = sizeof here;
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&here), size), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size), 0);
  std::thread slow([&] {
    std::array<std::byte, 2000> bytes{};
    Header first;
    for (int i = 0; i < 2; ++i) {
      const ssize_t n = ::recvfrom(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
      const auto question = decode(std::span(bytes.data(), static_cast<std::size_t>(n)));
      ASSERT_TRUE(question);
      if (i == 0) first = question->header;
    }
    const Bytes answer =
        encode({first.source, first.destination, Type::to_host, first.sequence, 0, first.command}, {7});
    ::sendto(fd, answer.data(), answer.size(), 0, reinterpret_cast<const sockaddr*>(&from), size);
  });
  NodeOptions o;
  o.address = here;
  o.patience_ns = 100'000'000;
  Node node(o);
  EXPECT_EQ(node.ask(Command::node_temperature, {}), Words{7});
  EXPECT_EQ(node.counts().asked_again, 1u);
  EXPECT_EQ(node.counts().ignored, 0u);
  slow.join();
  ::close(fd);
}

}  // namespace
}  // namespace iqd::warp
