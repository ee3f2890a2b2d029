// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/driver.hpp"

namespace iqd::radio::trigger {

/// Copies of the last items of a stream: what a recording may contain from before its trigger. One thread.
class Past {
 public:
  /// `format` must outlive it. `most`: how many items may be needed. Messages are kept whole, so there may be more.
  Past(const PortFormat& format, std::int64_t most) : format_(format), most_(most) {}

  /// How many of the newest items have not been passed on yet.
  std::int64_t usable() const noexcept { return usable_; }
  /// Whether these continue what was passed on.
  bool follows() const noexcept { return follows_; }
  /// Keeps the message's items from `from` on.
  void keep(const Message& message, std::int64_t from);
  /// All but the newest `left` items have been passed on.
  void passed_on(std::int64_t left);
  /// Calls `each` with a kept message, an item and a count, for the items from the `oldest`, counted back from the end,
  /// up to the `newest`, which is excluded.
  template <class F> void visit(std::int64_t oldest, std::int64_t newest, F each) const;

 private:
  struct Kept {
    Message message;
    std::vector<std::byte> payload;
  };
  void forget();

  const PortFormat& format_;
  std::int64_t most_;
  std::deque<Kept> kept_;
  std::vector<std::vector<std::byte>> spare_;
  std::int64_t items_ = 0;
  std::int64_t usable_ = 0;
  bool follows_ = false;
};

template <class F> void Past::visit(std::int64_t oldest, std::int64_t newest, F each) const {
  std::int64_t begin = items_ - oldest, end = items_ - newest;
  for (const Kept& kept : kept_) {
    const std::int64_t n = kept.message.extent;
    const std::int64_t from = std::max<std::int64_t>(begin, 0), to = std::min(end, n);
    if (from < to) each(kept.message, from, to - from);
    begin -= n;
    end -= n;
  }
}

}  // namespace iqd::radio::trigger
