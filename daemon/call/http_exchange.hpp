// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "base/error.hpp"
#include "daemon/call/monitor_address.hpp"

namespace iqd {

struct HttpReply {
  int status = 0;
  std::string body;
};

/// No connection was made.
class NothingAnswers : public SetupError {
 public:
  NothingAnswers(const MonitorAddress& to, std::string why);
  std::string why;  // a few words
};

/// Sends a request, which has to be one of HTTP/1.0, and returns what comes until the other end closes, at most so many
/// bytes. A host may have several addresses, IPv4 and IPv6; the first that answers counts. Throws NothingAnswers if none
/// does, and SetupError if the reply is no HTTP or not there after this time.
HttpReply exchange(const MonitorAddress& to, const std::string& request, std::chrono::milliseconds patience,
                   std::size_t largest = std::size_t{256} << 20);

}  // namespace iqd
