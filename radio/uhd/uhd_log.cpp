// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/uhd_log.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <uhd/utils/log_add.hpp>

#include "base/log.hpp"

namespace iqd::radio::usrp {
namespace {

void take_log_line(const uhd::log::logging_info& line) {
  static log::RateLimit limit;
  std::uint64_t suppressed = 0;
  std::string text = line.message;
  std::replace(text.begin(), text.end(), '\n', ' ');
  // At each opening libuhd logs a dozen lines that do not help.
  if (line.verbosity < uhd::log::warning) return log::debug("uhd: {}: {}", line.component, text);
  if (!limit.allow(suppressed)) return;
  log::warn("uhd: {}: {}{}", line.component, text, log::more_times(suppressed));
}

}  // namespace

void take_uhd_log() {
  static std::once_flag once;
  std::call_once(once, [] {
    // libuhd reads these before it writes its first line.
    ::setenv("UHD_LOG_FASTPATH_DISABLE", "1", 1);
    ::setenv("UHD_LOG_CONSOLE_LEVEL", "off", 1);
    uhd::log::set_console_level(uhd::log::off);  // a Soapy module may have started libuhd before
    uhd::log::add_logger("iqd", &take_log_line);
  });
}

}  // namespace iqd::radio::usrp
