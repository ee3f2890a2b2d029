// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/module_log.hpp"

#include <SoapySDR/Logger.hpp>
#include <atomic>
#include <mutex>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace iqd::radio::soapy {
namespace {

/// A module logs a few lines while it is opened; more than that in a second is a flood.
bool is_one_of_few() {
  constexpr int kFew = 50;
  static std::atomic<std::int64_t> second{0};
  static std::atomic<int> lines{0};
  const std::int64_t now = steady_ns() / 1'000'000'000;
  if (second.exchange(now) != now) lines = 0;
  return lines.fetch_add(1) < kFew;
}

void take_log_line(const SoapySDRLogLevel level, const char* text) {
  static log::RateLimit limit;
  std::uint64_t suppressed = 0;
  if (level == SOAPY_SDR_SSI || level > SOAPY_SDR_INFO) return log::debug("soapy: {}", text);
  if (level == SOAPY_SDR_INFO && is_one_of_few()) return log::info("soapy: {}", text);
  if (!limit.allow(suppressed)) return;
  log::warn("soapy: {}{}", text, log::more_times(suppressed));
}

}  // namespace

void take_log() {
  static std::once_flag once;
  std::call_once(once, [] { SoapySDR::registerLogHandler(&take_log_line); });
}

}  // namespace iqd::radio::soapy
