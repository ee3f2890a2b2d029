// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "daemon/ask/monitor_address.hpp"

namespace iqd {

struct HttpReply {
  int status = 0;
  std::string body;
};

/// Sends a request, which has to be one of HTTP/1.0, and returns what comes until the other end closes. A host may have
/// several addresses, IPv4 and IPv6; the first that answers counts. Throws SetupError if none does, or if the reply is
/// no HTTP or not there after this time.
HttpReply exchange(const MonitorAddress& to, const std::string& request, std::chrono::milliseconds patience);

}  // namespace iqd
