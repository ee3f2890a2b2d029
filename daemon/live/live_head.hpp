// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace iqd::live {

static_assert(std::endian::native == std::endian::little);

/// What is before the payload of each binary message to a page: 40 bytes, little-endian. docs/live.md explains the
/// fields.
struct Head {
  enum class Kind : std::uint8_t { row = 1, density = 2, counts = 3 };
  enum Flags : std::uint8_t { after_gap = 1, retuned = 2, clipped = 4 };

  Kind kind = Kind::row;
  std::uint8_t trace = 0;
  std::uint8_t flags = 0;
  std::uint8_t vectors = 1;
  std::uint32_t count = 0;  // codes, or numbers, in a vector
  std::uint32_t seq = 0;
  std::uint32_t lost = 0;
  double time_s = 0;
  double first = 0;
  float span = 0;
  std::int16_t low_cdb = 0;
  std::uint16_t step_mdb = 0;
};
static_assert(sizeof(Head) == 40);

inline std::string message_of(const Head& head, std::string_view payload) {
  std::string text(sizeof head + payload.size(), '\0');
  std::memcpy(text.data(), &head, sizeof head);
  std::memcpy(text.data() + sizeof head, payload.data(), payload.size());
  return text;
}

}  // namespace iqd::live
