// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

/// GNU Radio's header before samples, assembled from its parts.
namespace iqd::radio::zmq::tag_text {

template <class T> std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
/// Big-endian.
template <class T> std::string number(T value) {
  std::string bytes = raw(value);
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}
inline std::string symbol(const std::string& text) {
  return "\x02" + number(static_cast<std::uint16_t>(text.size())) + text;
}
inline std::string real(double x) {
  return "\x04" + number(x);
}
inline std::string integer(std::int32_t x) {
  return "\x03" + number(x);
}
inline std::string time(std::uint64_t seconds, double fraction) {
  return "\x0c" + number<std::uint32_t>(2) + "\x0b" + number(seconds) + real(fraction);
}
inline std::string tag(std::uint64_t offset, const std::string& key, const std::string& value) {
  return raw(offset) + symbol(key) + value + symbol("me");
}
inline std::string head(std::uint64_t offset, std::uint64_t tags) {
  return raw(std::uint16_t{0x5ff0}) + "\x01" + raw(offset) + raw(tags);
}

}  // namespace iqd::radio::zmq::tag_text
