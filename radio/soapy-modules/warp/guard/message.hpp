// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>

namespace iqd::warp::guard {

enum class Kind : std::uint32_t {
  words,      // to be sent at the end
  begin,      // from now on, signs of life are expected
  alive,      // a sign of life
  dismissed,  // nothing is to be sent
};

/// A message from a process to its guard; both come from the same build.
struct Message {
  Kind kind = Kind::alive;
  std::uint32_t size = 0;
  std::int64_t patience_ns = 0;
  sockaddr_in to{};
  std::byte packet[64]{};
};

}  // namespace iqd::warp::guard
