// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "base/clock.hpp"
#include "base/log_terminal.hpp"
#include "base/printable.hpp"

namespace iqd::log {
namespace {

std::atomic<std::uint64_t> line_count{0};
std::mutex line_mutex;  // a line and the footer around it
Footer* footer = nullptr;

/// The last lines, for programs that show them to those who come later.
struct Kept {
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kMostBytes = 4096;  // of a line
  std::mutex mutex;
  std::deque<Line> lines;
  std::uint64_t number = 0;
};
Kept& kept() {
  static Kept& lines = *new Kept;  // threads may log until the very end
  return lines;
}

/// A long line without its end.
std::string shortened(std::string_view text) {
  return text.size() <= Kept::kMostBytes ? std::string(text) : utf8_start(text, Kept::kMostBytes) + "…";
}

void keep(Level level, std::string_view text) {
  const std::lock_guard lock(kept().mutex);
  if (kept().lines.size() >= Kept::kMost) kept().lines.pop_front();
  kept().lines.push_back({++kept().number, wall_ns(), level, shortened(text)});
}

/// Whether standard error is the journal's socket (systemd.exec(5)), which adds the time itself.
bool is_journal() {
  static const bool is = [] {
    const char* journal = std::getenv("JOURNAL_STREAM");
    struct stat file {};
    return journal && ::fstat(STDERR_FILENO, &file) == 0 && fmt::format("{}:{}", file.st_dev, file.st_ino) == journal;
  }();
  return is;
}

/// By https://no-color.org.
bool wants_no_colours() {
  const char* const value = std::getenv("NO_COLOR");
  return value && *value;
}

/// The level of syslog(3), for the journal.
int urgency(Level level) {
  switch (level) {
    case Level::debug: return 7;
    case Level::info: return 6;
    case Level::warning: return 4;
    default: break;
  }
  return 3;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made =
        spdlog::stderr_color_mt("iqd", wants_no_colours() ? spdlog::color_mode::never : spdlog::color_mode::automatic);
    made->set_pattern(is_journal() ? "%v" : "%H:%M:%S.%e %^%l%$ %v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum native(Level level) {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warning: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
    case Level::none: break;
  }
  return spdlog::level::off;
}

}  // namespace

void write(Level level, std::string_view text) {
  line_count.fetch_add(1, std::memory_order_relaxed);
  if (!logger().should_log(native(level))) return;
  keep(level, text);
  const std::lock_guard lock(line_mutex);
  if (footer) footer->erase();
  if (is_journal())
    logger().log(native(level), "<{}>{}", urgency(level), text);
  else
    logger().log(native(level), text);
  if (footer) footer->draw();
}
void set_footer(Footer* next) {
  const std::lock_guard lock(line_mutex);
  footer = next;
}
void between_lines(const std::function<void()>& work) {
  const std::lock_guard lock(line_mutex);
  work();
}
void set_level(Level level) {
  logger().set_level(native(level));
}
void hide_below(Level level) {
  if (logger().level() > spdlog::level::debug) set_level(level);
}
std::uint64_t lines() noexcept {
  return line_count.load(std::memory_order_relaxed);
}

std::string_view name_of(Level level) noexcept {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warning: return "warning";
    default: return "error";
  }
}

std::vector<Line> lines_after(std::uint64_t number, std::size_t most) {
  const std::lock_guard lock(kept().mutex);
  const auto& lines = kept().lines;
  const auto from = std::ranges::upper_bound(lines, number, {}, &Line::number);
  const auto count = std::min(lines.end() - from, static_cast<std::ptrdiff_t>(most));
  return {lines.end() - count, lines.end()};
}

bool RateLimit::allow(std::uint64_t& suppressed) noexcept {
  const std::int64_t now = steady_ns();
  std::int64_t next = next_ns_.load(std::memory_order_relaxed);
  if (now < next || !next_ns_.compare_exchange_strong(next, now + 1'000'000'000)) {
    suppressed_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  suppressed = suppressed_.exchange(0, std::memory_order_relaxed);
  return true;
}

std::string more_times(std::uint64_t suppressed) {
  if (suppressed == 0) return {};
  return fmt::format(" ({} more time{} since the last line)", suppressed, suppressed == 1 ? "" : "s");
}

}  // namespace iqd::log
