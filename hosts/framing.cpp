// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/framing.hpp"

#include <cstddef>
#include <cstdint>

namespace iqd::hosts {
namespace {

constexpr std::size_t kRowAlign = 64;
constexpr std::size_t kMostHead = 1 << 20;

constexpr std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + kRowAlign - 1) / kRowAlign * kRowAlign;
}

}  // namespace

std::string framed(std::string_view head) {
  const auto length = static_cast<std::uint32_t>(head.size());
  std::string framed(sizeof length, '\0');
  for (std::size_t i = 0; i < sizeof length; ++i) framed[i] = static_cast<char>(length >> (8 * i) & 0xff);
  framed += head;
  framed.resize(aligned(framed.size()), '\0');
  return framed;
}

bool split(std::string_view message, std::string_view& head, std::string_view& rows) noexcept {
  std::uint32_t length = 0;
  if (message.size() < sizeof length) return false;
  for (std::size_t i = 0; i < sizeof length; ++i)
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(message[i])) << (8 * i);
  const std::size_t begin = aligned(sizeof length + length);
  if (length > kMostHead || begin > message.size()) return false;
  head = message.substr(sizeof length, length);
  rows = message.substr(begin);
  return true;
}

}  // namespace iqd::hosts
