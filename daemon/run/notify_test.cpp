// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/notify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "base/clock.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The service manager's end: a datagram socket at a path, or under an abstract name.
class Manager {
 public:
  explicit Manager(bool is_abstract = false) {
    static int number = 0;
    const std::string name = "iqd-notify-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    where_ = is_abstract ? "@" + name : (std::filesystem::temp_directory_path() / name).string();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, where_.data(), where_.size());
    if (is_abstract) address.sun_path[0] = '\0';
    file_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + where_.size());
    if (::bind(file_, reinterpret_cast<const sockaddr*>(&address), size) != 0) throw std::runtime_error("bind");
    const timeval patience{10, 0};
    ::setsockopt(file_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setenv("NOTIFY_SOCKET", where_.c_str(), 1);
    ::setenv("WATCHDOG_USEC", "3000000", 1);
  }
  ~Manager() {
    ::close(file_);
    if (where_[0] == '/') ::unlink(where_.c_str());
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
  }
  std::string next(int flags = 0) const {
    std::array<char, 4096> text{};
    const ssize_t size = ::recv(file_, text.data(), text.size(), flags);
    return size < 0 ? "nothing" : std::string(text.data(), static_cast<std::size_t>(size));
  }
  std::string waiting() const { return next(MSG_DONTWAIT); }

 private:
  std::string where_;
  int file_;
};

std::optional<std::int64_t> watchdog(const char* microseconds, const char* pid) {
  ::setenv("WATCHDOG_USEC", microseconds, 1);
  if (pid) ::setenv("WATCHDOG_PID", pid, 1);
  return Notify().watchdog_ns();
}

TEST(Notify, SaysNothingWhereNobodyListens) {
  ::unsetenv("NOTIFY_SOCKET");
  Notify notify;
  EXPECT_FALSE(notify);
  notify.ready();
  notify.alive();
  EXPECT_EQ(notify.watchdog_ns(), std::nullopt);
}

TEST(Notify, EachCallIsOneMessage) {
  for (const bool is_abstract : {false, true}) {
    const Manager manager(is_abstract);
    Notify notify;
    ASSERT_TRUE(notify);
    notify.ready();
    EXPECT_EQ(manager.next(), "READY=1\n");
    notify.status("20 MS/s, no drops");
    EXPECT_EQ(manager.next(), "STATUS=20 MS/s, no drops\n");
    notify.alive();
    EXPECT_EQ(manager.next(), "WATCHDOG=1\n");
    notify.stopping();
    EXPECT_EQ(manager.next(), "STOPPING=1\n");
    EXPECT_EQ(manager.waiting(), "nothing");
  }
}

TEST(Notify, NoSignOfLifeWhereNobodyWatches) {
  const Manager manager;
  ::unsetenv("WATCHDOG_USEC");
  Notify notify;
  notify.alive();
  notify.ready();
  EXPECT_EQ(manager.next(), "READY=1\n");
}

TEST(Notify, ReloadingCarriesTheTime) {
  const Manager manager;
  Notify notify;
  const std::int64_t before = steady_ns() / 1000;
  notify.reloading();
  const std::string text = manager.next();
  ASSERT_THAT(text, StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  const std::int64_t said = std::stoll(text.substr(text.rfind('=') + 1));
  EXPECT_GE(said, before);
  EXPECT_LE(said, steady_ns() / 1000);
}

TEST(Notify, AStatusIsOneLineOfWholeCharacters) {
  const Manager manager;
  Notify notify;
  notify.status("one\ntwo");
  EXPECT_EQ(manager.next(), "STATUS=one two\n");
  std::string text = "x";
  for (int i = 0; i < 2000; ++i) text += "µ";
  notify.status(text);
  const std::string got = manager.next();
  EXPECT_EQ(got, "STATUS=" + text.substr(0, 999) + "\n");  // 1000 would cut one in two
}

TEST(Notify, AChildDoesNotInheritTheSocket) {
  const Manager manager;
  ::setenv("WATCHDOG_PID", "1", 1);
  const Notify notify;
  for (const char* variable : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
    EXPECT_EQ(std::getenv(variable), nullptr) << variable;
}

TEST(Notify, TheWatchdogIsForThisProcessOnly) {
  const std::string own = std::to_string(::getpid());
  EXPECT_EQ(watchdog("3000000", own.c_str()), 3'000'000'000);
  EXPECT_EQ(watchdog("3000000", nullptr), 3'000'000'000);
  EXPECT_EQ(watchdog("3000000", "1"), std::nullopt);
  EXPECT_EQ(watchdog("3000000", "rubbish"), std::nullopt);
  for (const char* wrong : {"", "0", "-1", "3 s", "99999999999999999999", "9223372036854775807"})
    EXPECT_EQ(watchdog(wrong, nullptr), std::nullopt) << wrong;
}

TEST(Notify, WaitsForNobodyAndLosesNothingThatMatters) {
  const Manager manager;
  Notify notify;
  for (int i = 0; i < 100'000; ++i) notify.alive();  // more than any kernel queue takes
  notify.ready();
  notify.status("lost");
  notify.reloading();
  std::string text;
  while ((text = manager.waiting()) != "nothing") EXPECT_EQ(text, "WATCHDOG=1\n");
  notify.stopping();
  text = manager.waiting();
  EXPECT_THAT(text, StartsWith("READY=1\nRELOADING=1\nMONOTONIC_USEC="));
  EXPECT_THAT(text, HasSubstr("\nSTOPPING=1\n"));
  notify.alive();
  EXPECT_EQ(manager.waiting(), "WATCHDOG=1\n");  // kept messages are sent only once
}

TEST(Notify, ASocketThatIsGoneDoesNoHarm) {
  auto manager = std::make_unique<Manager>();
  Notify notify;
  manager.reset();
  notify.ready();
  notify.stopping();
  EXPECT_TRUE(notify);
}

TEST(Notify, AddressesThatAreNoneAreRefused) {
  for (const std::string& wrong :
       {std::string("relative/path"), std::string("@"), std::string("vsock:2:1234"), "/" + std::string(200, 'x')}) {
    ::setenv("NOTIFY_SOCKET", wrong.c_str(), 1);
    Notify notify;
    EXPECT_FALSE(notify) << wrong;
    notify.ready();
  }
}

}  // namespace
}  // namespace iqd
