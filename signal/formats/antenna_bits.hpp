// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "signal/formats/qam.hpp"

namespace iqd {

/// Bits of a point that each transmit antenna sends; 0: it is silent.
class AntennaBits {
 public:
  static constexpr std::int64_t kMost = 8;
  static constexpr std::string_view kSilent = "silent";

  AntennaBits() = default;
  AntennaBits(Modulation m, std::int64_t antennas) : count_(antennas) {
    for (std::int64_t a = 0; a < antennas; ++a)
      bits_[static_cast<std::size_t>(a)] = static_cast<std::uint8_t>(bits_of(m));
  }
  /// One word for all antennas, or one for each: qpsk, 16qam, 64qam, 256qam, silent. Nothing if one is none of these, or
  /// if their number is wrong.
  static std::optional<AntennaBits> of_words(std::span<const std::string> words, std::int64_t antennas) {
    if (words.empty() || antennas > kMost || (std::ssize(words) != 1 && std::ssize(words) != antennas)) return {};
    AntennaBits all;
    for (; all.count_ < antennas; ++all.count_) {
      const auto bits = bits_of_word(words[words.size() == 1 ? 0 : static_cast<std::size_t>(all.count_)]);
      if (!bits) return {};
      all.bits_[static_cast<std::size_t>(all.count_)] = static_cast<std::uint8_t>(*bits);
    }
    return all;
  }
  static std::optional<int> bits_of_word(std::string_view word) {
    const auto names = enum_names(Modulation{});
    const auto found = std::find(names.begin(), names.end(), word);
    if (found != names.end()) return bits_of(static_cast<Modulation>(found - names.begin()));
    return word == kSilent ? std::optional(0) : std::nullopt;
  }

  int of(std::int64_t antenna) const noexcept { return bits_[static_cast<std::size_t>(antenna)]; }
  std::int64_t antennas() const noexcept { return count_; }
  /// Of the points of all antennas on one carrier.
  int sum() const noexcept { return before(count_); }
  /// Of the antennas before this one.
  int before(std::int64_t antenna) const noexcept {
    int sum = 0;
    for (std::int64_t a = 0; a < antenna; ++a) sum += of(a);
    return sum;
  }
  int most() const noexcept { return *std::max_element(bits_.begin(), bits_.end()); }
  bool are_all(int bits) const noexcept {
    return std::all_of(bits_.begin(), bits_.begin() + count_, [bits](std::uint8_t own) { return own == bits; });
  }
  friend bool operator==(const AntennaBits&, const AntennaBits&) = default;

 private:
  std::array<std::uint8_t, kMost> bits_{};
  std::int64_t count_ = 0;
};

}  // namespace iqd
