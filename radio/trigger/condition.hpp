// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/driver.hpp"
#include "signal/filters/sample_level.hpp"

namespace iqd::radio::trigger {

/// Something to wait for in what a port gives.
struct Condition {
  enum class Quantity : std::uint8_t {
    level,  // of complex samples: mean power of a window, dB of full scale, in any channel
    peak,   // the largest real or imaginary part in it
    value,  // any one number of a port of real elements
    items,  // how many a message has
    gap,    // samples of the source that were lost just before it
    time,   // of a sample, which comes once
  };
  Quantity quantity = Quantity::level;
  bool above = true;  // `>` or `>=`, else `<` or `<=`
  bool or_equal = false;
  double value = 0;          // dB, or the number itself
  std::int64_t time_ns = 0;  // of `time`

  bool holds(double x) const noexcept { return (above ? x > value : x < value) || (or_equal && x == value); }
};

/// Reads `level > -20 dB`, `value < 1`, `time >= 2026-03-31T12:00:00Z`; nothing, and `why`, where it is something else.
std::optional<Condition> parse_condition(std::string_view text, std::string& why);
/// Why this cannot be asked of a port; empty where it can.
std::string unaskable(const Condition& condition, const PortFormat& format);

/// Looks for the places of a port where a condition holds.
class Watch {
 public:
  /// `window`: items that a level is measured over.
  Watch(const Condition& condition, const PortFormat& format, std::int64_t window);

  struct Hit {
    std::int64_t begin;  // the first item that it holds for, counted from the message's first: may be before that
    std::int64_t end;    // behind the last one that was looked at for it
  };
  /// The first hit in a message from the item `from` on; what is behind it has not been looked at yet.
  std::optional<Hit> look(const Message& message, std::int64_t from);
  /// What comes next does not follow what was looked at.
  void restart() noexcept;

 private:
  std::optional<Hit> look_at_windows(const Message& message, std::int64_t from);
  std::optional<Hit> look_at_values(const Message& message, std::int64_t from) const;
  std::optional<Hit> look_at_time(const Message& message, std::int64_t from);
  bool window_holds() const noexcept;

  Condition condition_;
  bool is_stream_;
  std::int64_t window_;
  double scale_;                     // turns powers of samples into parts of full scale's
  std::vector<SampleLevel> levels_;  // of each channel
  std::int64_t filled_ = 0;
  bool is_over_ = false;  // a time comes once
};

}  // namespace iqd::radio::trigger
