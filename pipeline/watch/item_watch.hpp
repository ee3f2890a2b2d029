// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "pipeline/watch/watch_outlet.hpp"

namespace iqd {

/// Keeps the facts of the newest packets or frames: for each, its time in seconds since 1970, and one number per fact.
class ItemWatch final : public WatchOutlet {
 public:
  static constexpr std::int64_t kMostItems = 64;

  /// `facts`: the keys of the columns that are kept; not `start`, which becomes the time.
  ItemWatch(const PortFormat& format, std::vector<std::string> facts, double per_second);
  const std::vector<std::string>& facts() const noexcept { return facts_; }

  static std::int64_t kept(const WatchCopy& copy) noexcept { return std::min(copy.count, kMostItems); }
  /// The time of item i of those kept, the oldest first, and then its facts.
  std::span<const double> item(const WatchCopy& copy, std::int64_t i) const noexcept;

 private:
  bool copy(const Message& message, WatchCopy& into) noexcept override;
  void add(const Message& message, std::int64_t item, double* to) const noexcept;

  const std::vector<std::string> facts_;
};

}  // namespace iqd
