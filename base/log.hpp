// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iqd::log {

enum class Level {
  debug,
  info,
  warning,
  error,
  none,  // for `set_level`: nothing is written
};

/// Never called per block: frequent events are counted and shown in the status.
void write(Level level, std::string_view text);
void set_level(Level level);
/// Lines written so far; a test checks that the steady state writes none.
std::uint64_t lines() noexcept;

template <class... A> void debug(fmt::format_string<A...> f, A&&... a) {
  write(Level::debug, fmt::format(f, std::forward<A>(a)...));
}
template <class... A> void info(fmt::format_string<A...> f, A&&... a) {
  write(Level::info, fmt::format(f, std::forward<A>(a)...));
}
template <class... A> void warn(fmt::format_string<A...> f, A&&... a) {
  write(Level::warning, fmt::format(f, std::forward<A>(a)...));
}
template <class... A> void error(fmt::format_string<A...> f, A&&... a) {
  write(Level::error, fmt::format(f, std::forward<A>(a)...));
}

/// A line as it was written; of a long one, the first 4 KiB.
struct Line {
  std::uint64_t number = 0;  // counted from 1
  std::int64_t time_ns = 0;  // since the Unix epoch
  Level level = Level::info;
  std::string text;
};
std::string_view name_of(Level level) noexcept;
/// The newest lines with a larger number, at most `most`, oldest first. A few hundred are kept.
std::vector<Line> lines_after(std::uint64_t number, std::size_t most);

/// Allows one line per second, for events that may come in bursts.
class RateLimit {
 public:
  /// True if a line may be written; `suppressed` is the number of lines suppressed since the last one.
  bool allow(std::uint64_t& suppressed) noexcept;

 private:
  std::atomic<std::int64_t> next_ns_{0};
  std::atomic<std::uint64_t> suppressed_{0};
};

/// ` (3 more times since the last line)`, for the end of a line that `RateLimit` allows; empty if none was suppressed.
std::string more_times(std::uint64_t suppressed);

}  // namespace iqd::log
