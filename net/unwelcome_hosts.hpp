// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace iqd::net {

/// The hosts of peers that were cut off. For a second all peers from there are refused: otherwise such a peer would be
/// back within a millisecond. Times are of the steady clock. One thread.
class UnwelcomeHosts {
 public:
  static constexpr std::int64_t kRefusedNs = 1'000'000'000;

  void add(std::string_view host, std::int64_t now_ns) {
    std::erase_if(until_ns_, [now_ns](const auto& other) { return other.second < now_ns; });
    until_ns_[std::string(host)] = now_ns + kRefusedNs;
  }
  bool contains(std::string_view host, std::int64_t now_ns) const {
    const auto found = until_ns_.find(host);
    return found != until_ns_.end() && now_ns < found->second;
  }

 private:
  std::map<std::string, std::int64_t, std::less<>> until_ns_;
};

}  // namespace iqd::net
