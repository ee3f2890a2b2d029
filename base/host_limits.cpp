// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/host_limits.hpp"

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

namespace iqd {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNone = HostLimits::kNone;

std::size_t left_of(std::size_t limit, std::size_t used) {
  return limit == kNone ? kNone : limit - std::min(limit, used);
}

/// The number after a key, as in `MemTotal: 16 kB` and `inactive_file 4096`.
std::optional<std::size_t> entry_of(const fs::path& file, std::string_view key, int base = 10) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, number;
    if (words >> word >> number && word == key) return std::strtoull(number.c_str(), nullptr, base);
  }
  return std::nullopt;
}

/// The number in a file; none if it says `max`.
std::optional<std::size_t> number_in(const fs::path& file) {
  std::ifstream text(file);
  std::size_t value = 0;
  return text >> value ? std::optional(value) : std::nullopt;
}

/// File names of the two versions of control groups.
struct MemoryFiles {
  const char* mount;
  const char* limit;
  const char* used;
  const char* cache;  // in memory.stat: reclaimable file pages
};
constexpr MemoryFiles kMemory2{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};
constexpr MemoryFiles kMemory1{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};

void look_at_memory(HostLimits& limits, const fs::path& group, const MemoryFiles& files) {
  const auto limit = number_in(group / files.limit);
  if (!limit) return;
  limits.all_memory = std::min(limits.all_memory, *limit);
  const std::size_t used = number_in(group / files.used).value_or(0);
  const std::size_t cache = entry_of(group / "memory.stat", files.cache).value_or(0);
  const std::size_t left = left_of(*limit, used - std::min(used, cache));
  if (left >= limits.memory) return;
  limits.memory = left;
  limits.group = (group / files.limit).string();
}

void look_at_threads(HostLimits& limits, const fs::path& group) {
  const auto limit = number_in(group / "pids.max");
  if (limit) limits.threads = std::min(limits.threads, left_of(*limit, number_in(group / "pids.current").value_or(0)));
}

/// Looks at the group's own limit and those of its ancestors. A container may get a path that it cannot see; then the
/// limit at the mount point applies.
template <class F> void look_upwards(const fs::path& mount, const std::string& path, F look) {
  for (fs::path at = fs::path(path).relative_path();; at = at.parent_path()) {
    look(mount / at);
    if (at.empty()) return;
  }
}

void look_at_groups(HostLimits& limits, const fs::path& root) {
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    const auto has = [&](std::string_view name) { return controllers.find(name) != controllers.npos; };
    if (controllers == ",," || has(",memory,"))
      look_upwards(root / (controllers == ",," ? kMemory2 : kMemory1).mount, path, [&](const fs::path& group) {
        look_at_memory(limits, group, controllers == ",," ? kMemory2 : kMemory1);
      });
    if (controllers == ",," || has(",pids,"))
      look_upwards(root / (controllers == ",," ? "sys/fs/cgroup" : "sys/fs/cgroup/pids"), path,
                   [&](const fs::path& group) { look_at_threads(limits, group); });
  }
}

std::size_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNone;
  return limit.rlim_cur;
}

/// mlockall succeeds if all mapped memory fits into the limit; after that, further mappings have to fit, too.
std::optional<std::size_t> lockable_beside(std::size_t mapped, const fs::path& status) {
  constexpr std::size_t kMayLockAnything = std::size_t{1} << 14;  // CAP_IPC_LOCK
  const std::size_t limit = limit_of(RLIMIT_MEMLOCK);
  if (limit == kNone || (entry_of(status, "CapEff:", 16).value_or(0) & kMayLockAnything) != 0) return kNone;
  return mapped > limit ? std::nullopt : std::optional(limit - mapped);
}

std::size_t open_files(const fs::path& root) {
  std::error_code ignored;
  const fs::directory_iterator files(root / "proc/self/fd", ignored);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

}  // namespace

HostLimits host_limits(const fs::path& root) {
  HostLimits limits;
  const fs::path meminfo = root / "proc/meminfo";
  if (const auto all = entry_of(meminfo, "MemTotal:")) limits.all_memory = *all * 1024;
  if (const auto free = entry_of(meminfo, "MemAvailable:")) limits.memory = *free * 1024;
  look_at_groups(limits, root);
  const fs::path status = root / "proc/self/status";
  const std::size_t mapped = entry_of(status, "VmSize:").value_or(0) * 1024;
  limits.addresses = left_of(limit_of(RLIMIT_AS), mapped);
  limits.locked = lockable_beside(mapped, status);
  limits.files = left_of(limit_of(RLIMIT_NOFILE), open_files(root));
  return limits;
}

std::size_t heap_bytes() noexcept {
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

std::size_t heap_growth(std::size_t since) noexcept {
  const std::size_t now = heap_bytes();
  return now - std::min(now, since);
}

}  // namespace iqd
