// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

namespace iqd {

/// What this process may still take of the host.
struct HostLimits {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  std::size_t all_memory = kNone;             // whoever has it now
  std::size_t memory = kNone;                 // resident, without that anything is paged out
  std::string group;                          // the file of the control group that says so; empty: it is the machine's
  std::size_t addresses = kNone;              // RLIMIT_AS
  std::optional<std::size_t> locked = kNone;  // RLIMIT_MEMLOCK, once all is locked; none where that is refused
  std::size_t files = kNone;                  // RLIMIT_NOFILE
  std::size_t threads = kNone;                // the control group's pids.max
};

/// Reads /proc and the control groups of this process, of versions 1 and 2, below `root`. What is not there sets no
/// limit.
HostLimits host_limits(const std::filesystem::path& root = "/");

/// Bytes of the heap that are in use; 0 where an allocator counts that is not the C library's.
std::size_t heap_bytes() noexcept;
/// What the heap has grown by since then; 0 where it has shrunk.
std::size_t heap_growth(std::size_t since) noexcept;

}  // namespace iqd
