// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace iqd::warp {

/// The ids by which nodes number their captures, one for each chain. If an id comes again, the trigger was lost, and the
/// node delivers its previous capture. One thread.
class CaptureIds {
 public:
  explicit CaptureIds(std::size_t chains) : current_(chains), last_(chains) {}

  /// The next capture begins: its ids are not known yet.
  void begin() { std::ranges::fill(current_, std::nullopt); }
  /// The id of a chain's capture, which its first samples set.
  std::optional<std::uint8_t>& operator[](std::size_t chain) { return current_[chain]; }

  enum class Verdict : std::uint8_t {
    fresh,
    repeated,    // the previous capture
    unnumbered,  // the id never changes, so from now on all captures count as fresh
  };
  /// Compares the id of a chain with that of its previous capture. Chains are checked in their order.
  Verdict check(std::size_t chain) noexcept {
    if (!count_ || current_[chain] != last_[chain]) {
      if (chain + 1 == current_.size()) repeated_ = 0;
      return Verdict::fresh;
    }
    if (++repeated_ < kMostRepeated) return Verdict::repeated;
    count_ = false;
    return Verdict::unnumbered;
  }
  /// The capture is complete.
  void accept() { last_ = current_; }

 private:
  static constexpr int kMostRepeated = 3;
  std::vector<std::optional<std::uint8_t>> current_, last_;
  bool count_ = true;  // nodes give each capture a new id
  int repeated_ = 0;   // consecutive
};

}  // namespace iqd::warp
