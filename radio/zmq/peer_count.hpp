// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

namespace iqd::radio::zmq {

/// How many samples are missing, by the peer's own count of them. Without such a count none are. One thread.
class PeerCount {
 public:
  /// The next sample has this number in the peer's count.
  void next_is(std::int64_t number) noexcept {
    skipped_ += expected_ < 0 ? 0 : number - expected_;
    expected_ = number;
  }
  void arrived(std::int64_t samples) noexcept { expected_ += expected_ < 0 ? 0 : samples; }
  /// How many were missing since the last call; negative if the peer restarted.
  std::int64_t take_skipped() noexcept { return std::exchange(skipped_, 0); }

 private:
  std::int64_t expected_ = -1;  // number of the next sample; -1: no count
  std::int64_t skipped_ = 0;
};

}  // namespace iqd::radio::zmq
