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

/// A condition on what a port delivers.
struct Condition {
  enum class Quantity : std::uint8_t {
    level,  // of complex samples: mean power of a window in any channel, dB of full scale
    peak,   // the largest real or imaginary part in the window, dB of full scale
    value,  // any number of a port of real elements
    items,  // the number of items of a message
    gap,    // source samples lost just before the message
    time,   // of a sample; holds once
  };
  Quantity quantity = Quantity::level;
  bool above = true;  // `>` or `>=`, else `<` or `<=`
  bool or_equal = false;
  double value = 0;          // dB, or a plain number
  std::int64_t time_ns = 0;  // for `time`

  bool holds(double x) const noexcept { return (above ? x > value : x < value) || (or_equal && x == value); }
};

/// Parses `level > -20 dB`, `value < 1`, `time >= 2026-03-31T12:00:00Z`. For other texts, returns nothing and sets
/// `why`.
std::optional<Condition> parse_condition(std::string_view text, std::string& why);
/// The same; throws SetupError for other texts.
Condition require_condition(std::string_view text);
/// Why the condition does not apply to a port; empty if it does.
std::string unaskable(const Condition& condition, const PortFormat& format);

/// Finds where a condition holds in the messages of a port.
class Watch {
 public:
  /// `window`: number of items over which a level is measured.
  Watch(const Condition& condition, const PortFormat& format, std::int64_t window);

  struct Hit {
    std::int64_t begin;  // first item for which it holds, counted from the message's first; may be before that
    std::int64_t end;    // after the last item that was examined for it
  };
  /// Returns the first hit in a message from the item `from` on. Items after it have not been examined.
  std::optional<Hit> look(const Message& message, std::int64_t from);
  /// The next message does not continue the previous one.
  void restart() noexcept;

 private:
  std::optional<Hit> look_at_windows(const Message& message, std::int64_t from);
  std::optional<Hit> look_at_values(const Message& message, std::int64_t from) const;
  std::optional<Hit> look_at_time(const Message& message, std::int64_t from);
  bool window_holds() const noexcept;

  Condition condition_;
  bool is_stream_;
  std::int64_t window_;
  double scale_;                     // factor from the power of samples to full scale
  std::vector<SampleLevel> levels_;  // per channel
  std::int64_t filled_ = 0;
  bool is_over_ = false;  // a time holds only once
};

}  // namespace iqd::radio::trigger
