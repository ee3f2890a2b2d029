// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

namespace iqd {

/// What this process may still use of the host.
struct HostLimits {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  std::size_t all_memory = kNone;             // total, used or not
  std::size_t memory = kNone;                 // resident memory available without paging
  std::string group;                          // file of the limiting control group; empty: the machine is the limit
  std::size_t addresses = kNone;              // RLIMIT_AS
  std::optional<std::size_t> locked = kNone;  // RLIMIT_MEMLOCK, once all is locked; none if that is refused
  std::size_t files = kNone;                  // RLIMIT_NOFILE
  std::size_t threads = kNone;                // the control group's pids.max
};

/// Reads /proc and the control groups (versions 1 and 2) of this process below `root`. Missing files set no limit.
HostLimits host_limits(const std::filesystem::path& root = "/");

/// Bytes of the heap in use; 0 if another allocator than the C library's is used.
std::size_t heap_bytes() noexcept;
/// How much the heap has grown since then; 0 if it has shrunk.
std::size_t heap_growth(std::size_t since) noexcept;

}  // namespace iqd
