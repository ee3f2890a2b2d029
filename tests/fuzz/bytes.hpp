// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

namespace iqd::fuzz {

/// Decisions that an input makes, byte by byte. After its end all are 0, so 0 should be the simplest choice.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}

  bool empty() const noexcept { return rest_.empty(); }
  template <class T> T take() noexcept {
    T value{};
    const std::size_t n = std::min(sizeof(T), rest_.size());
    if (n > 0) std::memcpy(&value, rest_.data(), n);
    rest_.remove_prefix(n);
    return value;
  }
  bool flag() noexcept { return take<std::uint8_t>() & 1; }
  /// From 0 to `n` - 1; `n` is at most 65536.
  std::size_t below(std::size_t n) noexcept {
    if (n <= 1) return 0;
    return (n <= 256 ? take<std::uint8_t>() : take<std::uint16_t>()) % n;
  }
  template <class List> decltype(auto) pick(const List& list) noexcept { return list[below(std::size(list))]; }
  /// The next `n` bytes, or as many as are left.
  std::string_view text(std::size_t n) noexcept {
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  /// A length in one byte, or in two more if it is 255, followed by that many bytes.
  std::string_view piece() noexcept {
    const std::size_t n = take<std::uint8_t>();
    return text(n < 255 ? n : take<std::uint16_t>());
  }
  std::string_view rest() noexcept { return text(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace iqd::fuzz
