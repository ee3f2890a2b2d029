// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace iqd {

/// Where a running iqd answers over HTTP.
struct MonitorAddress {
  std::string host = "127.0.0.1";  // an IPv6 address without its brackets
  int port = 9464;

  /// As in a URL: `127.0.0.1:9464`, `[::1]:9464`.
  std::string text() const;
};

/// Reads `HOST:PORT`, `HOST`, `PORT`, `:PORT` or `[ADDRESS]:PORT`, also as the URL `http://…/`. What is missing is
/// 127.0.0.1 and 9464. Throws UsageError.
MonitorAddress parse_monitor_address(std::string_view text);

/// The address that was given, else that of the environment variable IQD_MONITOR, else 127.0.0.1:9464.
MonitorAddress monitor_address(const std::string& given);

}  // namespace iqd
