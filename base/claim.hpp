// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace iqd {

/// What only one entry of a file can have while it is open.
struct Claim {
  enum class Kind : std::uint8_t {
    radio,    // a channel of a radio
    address,  // that is bound: `tcp://127.0.0.1:5555`, `ipc://path`
    file,     // that is written
  };
  Kind kind = Kind::radio;
  std::string what;      // the same text for the same thing
  std::string_view key;  // that says it
};
using Claims = std::vector<Claim>;

/// Whether only one of two can be had. Addresses of one port overlap if they have the same host, or if one is that of
/// all hosts (`*`, `0.0.0.0`).
bool overlap(const Claim& a, const Claim& b);

}  // namespace iqd
