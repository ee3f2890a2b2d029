// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/binding.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>

#include "base/file_handle.hpp"

namespace iqd::net {
namespace {

constexpr std::string_view kIpc = "ipc://";

struct BoundFile {
  std::string path;
  dev_t device;
  ino_t number;
  bool operator<(const BoundFile& other) const {
    return std::tie(path, device, number) < std::tie(other.path, other.device, other.number);
  }
};

struct BoundFiles {
  std::mutex mutex;
  std::set<BoundFile> all;
};
BoundFiles& bound_files() {
  static BoundFiles* const only = new BoundFiles;
  return *only;
}

/// Makes the check and the bind one step for other iqd processes: otherwise both could find the path free.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    file_.reset(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // No iqd holds it for longer, and another program must not block this one.
    for (int i = 0; i < 100 && file_.get() >= 0 && ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

 private:
  FileHandle file_;
};

/// Returns 0 if the path is free, or nobody listens there any more; otherwise the error.
int occupied(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return 0;
  if (!S_ISSOCK(facts.st_mode)) return EEXIST;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return errno;
  const bool answers = ::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int why = errno;
  ::close(file);
  if (answers || why == EAGAIN || why == EPROTOTYPE) return EADDRINUSE;
  return why == ECONNREFUSED || why == ENOENT ? 0 : why;
}

/// Returns false if the file is not, or no longer, ours.
bool forget(const BoundFile& file) {
  const std::lock_guard lock(bound_files().mutex);
  return bound_files().all.erase(file) > 0;
}

void remove(const BoundFile& file) noexcept {
  struct stat facts {};
  if (::lstat(file.path.c_str(), &facts) != 0) return;
  if (facts.st_dev == file.device && facts.st_ino == file.number) ::unlink(file.path.c_str());
}

}  // namespace

int Binding::bind(void* socket, const std::string& endpoint) {
  const std::string path = endpoint.starts_with(kIpc) ? endpoint.substr(kIpc.size()) : "";
  // Abstract names are kept apart by the kernel, generated names by libzmq.
  if (path.empty() || path[0] == '@' || path[0] == '*') return ::zmq_bind(socket, endpoint.c_str());
  const FolderLock lock(path);
  if (const int why = occupied(path)) {
    errno = why;
    return -1;
  }
  if (::zmq_bind(socket, endpoint.c_str()) != 0) return -1;
  path_ = path;
  remember();
  return 0;
}

void Binding::remember() {
  struct stat facts {};
  if (::lstat(path_.c_str(), &facts) != 0) return;
  device_ = facts.st_dev;
  number_ = facts.st_ino;
  const std::lock_guard lock(bound_files().mutex);
  bound_files().all.insert({path_, device_, number_});
}

Binding::~Binding() {
  if (path_.empty()) return;
  const BoundFile file{path_, device_, number_};
  const FolderLock lock(path_);
  if (forget(file)) remove(file);
}

void remove_bound_files() noexcept {
  std::set<BoundFile> all;
  {
    const std::lock_guard lock(bound_files().mutex);
    all.swap(bound_files().all);
  }
  for (const BoundFile& file : all) remove(file);
}

std::string bound_address(void* socket) {
  std::array<char, 256> text{};
  std::size_t bytes = text.size();
  ::zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, text.data(), &bytes);
  return text.data();
}

std::string_view what_to_do(int error, std::string_view endpoint) noexcept {
  const bool is_file = endpoint.starts_with(kIpc);
  if (error == EEXIST && is_file) return "; the file there is not a socket: remove it, or choose another name";
  if (error != EADDRINUSE) return "";
  return is_file ? "; another program, or another entry of this file, is bound there: choose another, or find it with "
                   "`ss -lxp`"
                 : "; another program has this port: choose another, or find it with `ss -ltnp`";
}

}  // namespace iqd::net
