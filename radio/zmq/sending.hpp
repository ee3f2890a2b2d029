// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/driver.hpp"

namespace iqd::radio::zmq {

/// What was sent has so long to leave after the socket is closed.
inline constexpr int kLingerMs = 10'000;
/// How long a waiting sink does not look whether it was interrupted.
inline constexpr long kPollMs = 50;
/// How long a push socket waits for a reader where the configuration does not say.
inline constexpr double kWaitS = 1;

/// ZeroMQ counts messages, people count bytes.
inline int high_water(std::int64_t bytes, const PortFormat& format) {
  const std::int64_t message = std::max<std::int64_t>(format.bytes(format.most()), 1);
  return static_cast<int>(std::clamp<std::int64_t>(bytes / message, 1, 1'000'000));
}

}  // namespace iqd::radio::zmq
