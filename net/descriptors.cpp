// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/descriptors.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "net/peer.hpp"

namespace iqd::net {
namespace {

constexpr rlim_t kMost = 65536;
constexpr rlim_t kMostForSelect = 1024;
constexpr rlim_t kMostForControl = 512;

/// Never destroyed: threads of libraries accept connections until the process ends.
struct Gate {
  std::mutex mutex;
  int spare = ::eventfd(0, EFD_CLOEXEC);  // lets a connection in that is then closed
  std::atomic<std::uint64_t> refused{0};
  log::RateLimit lines;
  std::atomic<int> control_port{0};
  std::mutex control_mutex;
  ControlPort::Came came_to_control;
};
Gate& gate() {
  static Gate* const only = new Gate;
  return *only;
}

rlim_t limit_now() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : kMostForSelect;
}

void note_refusal(const std::string& peer) {
  gate().refused.fetch_add(1, std::memory_order_relaxed);
  std::uint64_t suppressed = 0;
  if (gate().lines.allow(suppressed))
    log::warn("a connection from {} was closed at once: peers use their whole share of {} descriptors (LimitNOFILE){}",
              peer, limit_now(), log::more_times(suppressed));
}

int accept_now(int listener, sockaddr* address, socklen_t* size, int flags) noexcept {
  return static_cast<int>(::syscall(SYS_accept4, listener, address, size, flags));
}

/// No descriptor is left for the peer that waits at the listener. If it were not accepted, it would wait on, and keep
/// the polling thread busy.
void turn_away(int listener) noexcept {
  Gate& g = gate();
  if (g.spare < 0) g.spare = ::eventfd(0, EFD_CLOEXEC);
  if (g.spare < 0) return std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::close(g.spare);
  if (const int file = accept_now(listener, nullptr, nullptr, SOCK_CLOEXEC); file >= 0) {
    note_refusal(peer_of(file));
    ::close(file);
  }
  g.spare = ::eventfd(0, EFD_CLOEXEC);
}

void* wait_for_mutex(void* mutex) {
  const std::lock_guard lock(*static_cast<std::mutex*>(mutex));
  return nullptr;
}

bool is_want(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/// libzmq ends the process if an `accept` at ipc:// fails for lack of descriptors; it tolerates a peer that has gone.
int admit(int listener, sockaddr* address, socklen_t* size, int flags, int lowest) {
  // If no peer is waiting yet, accept may block, and must not hold the mutex.
  std::unique_lock lock(gate().mutex, std::defer_lock);
  pollfd somebody{listener, POLLIN, 0};
  if (::poll(&somebody, 1, 0) > 0) lock.lock();
  const int file = accept_now(listener, address, size, flags);
  if (file < 0 && lock && is_want(errno)) {
    turn_away(listener);
    errno = ECONNABORTED;
  }
  if (file < 0 || file >= lowest) return file;
  const int moved = ::fcntl(file, (flags & SOCK_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD, lowest);
  if (moved < 0) note_refusal(peer_of(file));
  ::close(file);
  if (moved < 0) errno = ECONNABORTED;
  return moved;
}

bool is_control(int listener) noexcept {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  const int port = gate().control_port;
  return port != 0 && ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) == 0 &&
         at.sin_family == AF_INET && ntohs(at.sin_port) == port;
}

/// Without it, a connection lasts a quarter of an hour after its peer's machine has vanished.
void end_when_nobody_answers(int file) noexcept {
  constexpr unsigned kPatienceMs = 10'000;
  static_cast<void>(::setsockopt(file, IPPROTO_TCP, TCP_USER_TIMEOUT, &kPatienceMs, sizeof kPatienceMs));
}

int admit_to_control(int listener, sockaddr* address, socklen_t* size, int flags) {
  sockaddr_in from{};
  socklen_t length = sizeof from;
  const int file = admit(listener, reinterpret_cast<sockaddr*>(&from), &length, flags, own_descriptors());
  if (file < 0) return file;
  end_when_nobody_answers(file);
  if (address) std::memcpy(address, &from, std::min(*size, length));
  if (size) *size = length;
  std::array<char, INET_ADDRSTRLEN> host{};
  ::inet_ntop(AF_INET, &from.sin_addr, host.data(), host.size());
  const std::lock_guard lock(gate().control_mutex);
  if (gate().came_to_control)
    gate().came_to_control(file, fmt::format("{} port {}", host.data(), ntohs(from.sin_port)));
  return file;
}

}  // namespace

void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kMost);
  if (wanted <= limit.rlim_cur) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int own_descriptors() noexcept {
  return static_cast<int>(std::min(limit_now() / 2, kMostForSelect));
}

int control_descriptors() noexcept {
  const rlim_t most = limit_now();
  return static_cast<int>(std::min((most - std::min(most / 2, kMostForSelect)) / 4, kMostForControl));
}

ControlPort::ControlPort(int port, Came came) {
  const std::lock_guard lock(gate().control_mutex);
  gate().came_to_control = std::move(came);
  gate().control_port = port;
}

ControlPort::~ControlPort() {
  gate().control_port = 0;
  const std::lock_guard lock(gate().control_mutex);
  gate().came_to_control = {};
}

std::uint64_t connections_refused() noexcept {
  return gate().refused.load(std::memory_order_relaxed);
}

FreeDescriptors::FreeDescriptors(int count) : gate_(gate().mutex) {
  std::vector<int> files;
  while (std::cmp_less(files.size(), count)) {
    const int file = ::eventfd(0, EFD_CLOEXEC);
    if (file < 0) break;
    files.push_back(file);
  }
  const int why = errno;
  for (const int file : files) ::close(file);
  if (std::cmp_less(files.size(), count))
    throw SetupError(
        fmt::format("{} descriptors are needed and {} are left ({}): raise LimitNOFILE= of the service, "
                    "or `ulimit -n`",
                    count, files.size(), std::strerror(why)));
}

void require_threads(int count) {
  // A small stack: with locked memory, the whole stack would be allocated.
  constexpr std::size_t kStackBytes = 256 << 10;
  std::mutex held;
  std::vector<pthread_t> threads;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  int why = 0;
  {
    const std::lock_guard lock(held);
    while (why == 0 && std::cmp_less(threads.size(), count)) {
      pthread_t thread{};
      why = ::pthread_create(&thread, &attributes, wait_for_mutex, &held);
      if (why == 0) threads.push_back(thread);
    }
  }
  ::pthread_attr_destroy(&attributes);
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  if (why != 0)
    throw SetupError(
        fmt::format("{} threads are needed and {} can be started ({}): raise TasksMax= of the service, or "
                    "`ulimit -u`",
                    count, threads.size(), std::strerror(why)));
}

}  // namespace iqd::net

extern "C" int accept4(int listener, sockaddr* address, socklen_t* size, int flags) {
  if (iqd::net::is_control(listener)) return iqd::net::admit_to_control(listener, address, size, flags);
  return iqd::net::admit(listener, address, size, flags, iqd::net::own_descriptors() + iqd::net::control_descriptors());
}

extern "C" int accept(int listener, sockaddr* address, socklen_t* size) {
  return accept4(listener, address, size, 0);
}
