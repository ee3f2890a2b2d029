// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/transmit/guard.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/guard/message.hpp"

namespace iqd::warp {
namespace {

/// The guard lies beside the module that contains this code.
std::string path_of_guard() {
  Dl_info here{};
  ::dladdr(reinterpret_cast<const void*>(&path_of_guard), &here);
  const std::string module = here.dli_fname ? here.dli_fname : "";
  return module.substr(0, module.rfind('/') + 1) + "warp_guard";
}

/// Passes the socket as standard input, and no other descriptor.
pid_t start(const std::string& path, int socket) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  char name[] = "warp_guard";
  char* const words[] = {name, nullptr};
  pid_t process = 0;
  const int error = ::posix_spawn(&process, path.c_str(), &files, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0)
    throw std::system_error(error, std::generic_category(),
                            "warp: cannot start " + path +
                                ", which switches the transmitter off if this process "
                                "fails; transmission is disabled");
  return process;
}

}  // namespace

Guard::Guard(const std::vector<Words>& last, std::int64_t patience_ns) : told_every_ns_(patience_ns / 10) {
  int both[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, both) != 0)
    throw std::system_error(errno, std::generic_category(), "warp: cannot make a socket");
  socket_ = both[0];
  try {
    process_ = start(path_of_guard(), both[1]);
  } catch (...) {
    ::close(both[0]);
    ::close(both[1]);
    throw;
  }
  ::close(both[1]);
  guard::Message message;
  for (const Words& w : last) {
    message.kind = guard::Kind::words;
    message.to = w.to;
    message.size = static_cast<std::uint32_t>(std::min(w.packet.size(), sizeof message.packet));
    std::memcpy(message.packet, w.packet.data(), message.size);
    send(&message, sizeof message);
  }
  message.kind = guard::Kind::begin;
  message.patience_ns = patience_ns;
  send(&message, sizeof message);
}

Guard::~Guard() {
  ::close(socket_);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guard::send(const void* bytes, std::size_t size) {
  if (::send(socket_, bytes, size, MSG_NOSIGNAL) < 0)
    throw std::system_error(errno, std::generic_category(), "warp: warp_guard exited");
}

void Guard::dismiss() noexcept {
  const guard::Message message{.kind = guard::Kind::dismissed};
  ::send(socket_, &message, sizeof message, MSG_NOSIGNAL);
}

bool Guard::alive() noexcept {
  const std::int64_t now = steady_ns();
  if (now - told_ns_ < told_every_ns_) return true;
  told_ns_ = now;
  const guard::Message message{.kind = guard::Kind::alive};
  return ::send(socket_, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0 || errno == EAGAIN;
}

}  // namespace iqd::warp
