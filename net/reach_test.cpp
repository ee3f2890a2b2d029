// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/reach.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace iqd::net {
namespace {

using ::testing::HasSubstr;

TEST(Reach, SaysWhetherSomethingListens) {
  const int file = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  ASSERT_EQ(::bind(file, reinterpret_cast<sockaddr*>(&address), bytes), 0);
  ASSERT_EQ(::getsockname(file, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  const std::string endpoint = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  EXPECT_THAT(why_unreachable(endpoint), HasSubstr("nothing listens there")) << "bound, but not listening";
  ASSERT_EQ(::listen(file, 1), 0);
  EXPECT_EQ(why_unreachable(endpoint), "");
  ::close(file);
}

TEST(Reach, NamesAWrongHostAndAMissingFile) {
  EXPECT_THAT(why_unreachable("tcp://no.such.host.invalid:1"), HasSubstr("'no.such.host.invalid' is not known"));
  EXPECT_THAT(why_unreachable("ipc:///nonexistent/socket"), HasSubstr("nothing listens there"));
  EXPECT_EQ(why_unreachable("inproc://x"), "");
}

}  // namespace
}  // namespace iqd::net
