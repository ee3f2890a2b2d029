// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/need.hpp"

namespace iqd::net {

/// The needs of a socket with its own context and a door: three threads, and libzmq's wake-up descriptors. Entries with
/// the same address share it.
inline Need socket_need(const std::string& address, std::size_t hwm_bytes = 0) {
  return {.what = "socket " + address, .more = hwm_bytes, .threads = 3, .files = 10, .shared = true};
}

}  // namespace iqd::net
