// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace iqd::warp_node {

/// Which commands a node got, for tests. Any thread.
class CommandLog {
 public:
  void add(std::uint32_t command, const std::vector<std::uint32_t>& words) {
    const std::lock_guard lock(mutex_);
    last_[command] = words;
    ++times_[command];
  }
  /// The words of the last command of this kind.
  std::optional<std::vector<std::uint32_t>> last(std::uint32_t command) const {
    const std::lock_guard lock(mutex_);
    const auto found = last_.find(command);
    return found == last_.end() ? std::nullopt : std::optional(found->second);
  }
  int times(std::uint32_t command) const {
    const std::lock_guard lock(mutex_);
    const auto found = times_.find(command);
    return found == times_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> last_;
  std::map<std::uint32_t, int> times_;
};

}  // namespace iqd::warp_node
