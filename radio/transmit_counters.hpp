// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/driver.hpp"
#include "base/log.hpp"

namespace iqd::radio {

/// Counts what a transmitting radio reports, and logs it, at most one line per second. Any thread.
class TransmitCounters {
 public:
  /// `name` of the radio starts the lines.
  explicit TransmitCounters(std::string name) : name_(std::move(name)) {}
  void underflow() { note(underflows_, "ran out of samples"); }
  void late() { note(late_, "got samples too late"); }
  void sequence_error() { note(sequence_errors_, "missed packets"); }
  SinkCounts counts() const noexcept { return {underflows_, late_, sequence_errors_}; }

 private:
  void note(std::atomic<std::uint64_t>& count, std::string_view what) {
    const std::uint64_t times = ++count;
    std::uint64_t suppressed = 0;
    if (lines_.allow(suppressed)) log::warn("{}: the transmitter {} ({} times so far)", name_, what, times);
  }

  std::string name_;
  std::atomic<std::uint64_t> underflows_{0};
  std::atomic<std::uint64_t> late_{0};
  std::atomic<std::uint64_t> sequence_errors_{0};
  log::RateLimit lines_;
};

}  // namespace iqd::radio
