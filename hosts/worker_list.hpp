// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "hosts/pool_messages.hpp"

namespace iqd::hosts {

/// The workers that have said something lately. One thread.
class WorkerList {
 public:
  /// A worker says something each second.
  static constexpr std::int64_t kSilentNs = 3'500'000'000;

  void note(const HereMessage& here, std::int64_t now_ns) { seen_[here.worker] = {here, now_ns}; }
  void forget_silent(std::int64_t now_ns) {
    std::erase_if(seen_, [now_ns](const auto& w) { return now_ns - w.second.at_ns > kSilentNs; });
  }
  int workers() const noexcept { return static_cast<int>(seen_.size()); }
  int lanes() const noexcept {
    int lanes = 0;
    for (const auto& [name, worker] : seen_) lanes += worker.here.lanes;
    return lanes;
  }
  /// What one of them says is wrong; empty: nothing.
  std::string trouble() const {
    for (const auto& [name, worker] : seen_)
      if (!worker.here.trouble.empty()) return name + ": " + worker.here.trouble;
    return {};
  }

 private:
  struct Seen {
    HereMessage here;
    std::int64_t at_ns = 0;
  };
  std::map<std::string, Seen> seen_;
};

}  // namespace iqd::hosts
