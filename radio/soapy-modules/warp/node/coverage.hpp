// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace iqd::warp {

/// Which samples of a stretch have arrived, in any order and any number of times.
class Coverage {
 public:
  void begin(std::uint32_t first, std::uint32_t count) {
    begin_ = first;
    end_ = first + count;
    missing_from_ = first;
    islands_.clear();
  }
  /// They must lie within the stretch. Returns true if one of them is new.
  bool add(std::uint32_t first, std::uint32_t count) {
    std::uint32_t& end = first <= missing_from_ ? missing_from_ : islands_[first];
    if (first + count <= end) return false;
    end = first + count;
    for (auto at = islands_.begin(); at != islands_.end() && at->first <= missing_from_; at = islands_.erase(at))
      missing_from_ = std::max(missing_from_, at->second);
    return true;
  }
  bool holds(std::uint32_t first, std::uint32_t count) const noexcept {
    return count <= end_ - begin_ && first >= begin_ && first - begin_ <= end_ - begin_ - count;
  }
  std::uint32_t first_missing() const noexcept { return missing_from_; }
  /// Where the first run of missing samples ends.
  std::uint32_t missing_up_to() const noexcept { return islands_.empty() ? end_ : islands_.begin()->first; }
  std::uint32_t end() const noexcept { return end_; }
  bool whole() const noexcept { return missing_from_ == end_; }

 private:
  std::uint32_t begin_ = 0, end_ = 0;
  std::uint32_t missing_from_ = 0;
  std::map<std::uint32_t, std::uint32_t> islands_;  // behind it: begin and end of each run that has arrived
};

}  // namespace iqd::warp
