// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/trigger/condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/integer.hpp"
#include "radio/file/iso_time.hpp"
#include "radio/message_part.hpp"

namespace iqd::radio::trigger {
namespace {

using Quantity = Condition::Quantity;

constexpr std::string_view kNames[] = {"level", "peak", "value", "items", "gap", "time"};
constexpr std::string_view kExpected =
    "expected one of level, peak, value, items, gap or time, one of < <= > >=, and a value, e.g. `level > -20 dB`";

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool read_number(std::string_view text, bool decibel, double& value) {
  if (decibel && text.ends_with("dB")) text = trim(text.substr(0, text.size() - 2));
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
}

bool is_complex(const PortFormat& format) {
  return format.element == Element::sc16 || format.element == Element::cf32;
}

double decibels(double power) noexcept {
  return power > 0 ? 10 * std::log10(power) : -std::numeric_limits<double>::infinity();
}

/// The first of these values for which the condition holds; `n` if there is none.
template <class T> std::int64_t first_that_holds(const Condition& condition, const std::byte* from, std::int64_t n) {
  const T* const x = reinterpret_cast<const T*>(from);
  const auto holds = [&](const T& v) {
    if constexpr (std::is_same_v<T, f16>)
      return condition.holds(to_float(v));
    else if constexpr (std::is_arithmetic_v<T>)
      return condition.holds(static_cast<double>(v));
    else
      return false;
  };
  return std::find_if(x, x + n, holds) - x;
}

}  // namespace

std::optional<Condition> parse_condition(std::string_view text, std::string& why) {
  why = kExpected;
  const std::size_t sign = text.find_first_of("<>");
  if (sign == text.npos) return std::nullopt;
  Condition condition;
  const auto* name = std::ranges::find(kNames, trim(text.substr(0, sign)));
  if (name == std::end(kNames)) return std::nullopt;
  condition.quantity = static_cast<Quantity>(name - std::begin(kNames));
  condition.above = text[sign] == '>';
  text.remove_prefix(sign + 1);
  condition.or_equal = text.starts_with('=');
  const std::string_view value = trim(text.substr(condition.or_equal ? 1 : 0));
  if (condition.quantity == Quantity::time) {
    const auto time = parse_iso_time(value);
    why = "expected `time > ` and a time such as 2026-03-31T12:00:00Z";
    if (!time || !condition.above) return std::nullopt;
    condition.time_ns = time->ns;
    why.clear();
    return condition;
  }
  const bool decibel = condition.quantity == Quantity::level || condition.quantity == Quantity::peak;
  if (!read_number(value, decibel, condition.value)) return std::nullopt;
  why.clear();
  return condition;
}

Condition require_condition(std::string_view text) {
  std::string why;
  const std::optional<Condition> condition = parse_condition(text, why);
  if (!condition) throw SetupError(fmt::format("trigger: when: '{}': {}", text, why));
  return *condition;
}

std::string unaskable(const Condition& condition, const PortFormat& format) {
  const std::string port = fmt::format("{} is {} {}", format.port, name_of(format.element), to_string(format.dims));
  switch (condition.quantity) {
    case Quantity::level:
    case Quantity::peak:
      if (is_complex(format) && is_stream(format)) break;
      return port + "; level and peak need complex samples [n] or [channel][n]: use `value`";
    case Quantity::value:
      if (!is_complex(format)) break;
      return port + "; `value` needs real numbers: use `level` or `peak`";
    case Quantity::items:
    case Quantity::gap:
    case Quantity::time: break;
  }
  return {};
}

Watch::Watch(const Condition& condition, const PortFormat& format, std::int64_t window)
    : condition_(condition),
      is_stream_(is_stream(format)),
      window_(std::max<std::int64_t>(window, 1)),
      scale_(format.element == Element::sc16 ? 1.0 / (32768.0 * 32768.0) : 1.0),
      levels_(static_cast<std::size_t>(format.dims.size() == 2 ? format.dims.front().extent : 1)) {}

void Watch::restart() noexcept {
  std::ranges::fill(levels_, SampleLevel{});
  filled_ = 0;
}

std::optional<Watch::Hit> Watch::look(const Message& message, std::int64_t from) {
  if (from >= message.extent) return std::nullopt;
  const bool at_start = from == 0;
  const auto whole = [&](double x) {
    return at_start && condition_.holds(x) ? std::optional(Hit{0, is_stream_ ? 1 : message.extent}) : std::nullopt;
  };
  switch (condition_.quantity) {
    case Quantity::level:
    case Quantity::peak: return look_at_windows(message, from);
    case Quantity::value: return look_at_values(message, from);
    case Quantity::items: return whole(static_cast<double>(message.extent));
    case Quantity::gap: return whole(static_cast<double>(message.gap));
    case Quantity::time: break;
  }
  return look_at_time(message, from);
}

std::optional<Watch::Hit> Watch::look_at_windows(const Message& message, std::int64_t from) {
  if (from == 0 && message.gap > 0) restart();
  for (std::int64_t at = from; at < message.extent;) {
    const std::int64_t n = std::min(window_ - filled_, message.extent - at);
    for (std::size_t c = 0; c < levels_.size(); ++c) {
      const std::int64_t first = static_cast<std::int64_t>(c) * message.extent + at;
      if (message.format->element == Element::sc16)
        add_level({reinterpret_cast<const sc16*>(message.payload.data()) + first, static_cast<std::size_t>(n)}, 32768,
                  levels_[c]);
      else
        add_level({reinterpret_cast<const cf32*>(message.payload.data()) + first, static_cast<std::size_t>(n)}, 1.0F,
                  levels_[c]);
    }
    at += n;
    filled_ += n;
    if (filled_ < window_) break;
    const bool holds = window_holds();
    restart();
    if (holds) return Hit{at - window_, at};
  }
  return std::nullopt;
}

bool Watch::window_holds() const noexcept {
  return std::ranges::any_of(levels_, [&](const SampleLevel& level) {
    const double power = condition_.quantity == Quantity::level ? level.square_sum / static_cast<double>(level.samples)
                                                                : level.peak * level.peak;
    return condition_.holds(decibels(power * scale_));
  });
}

std::optional<Watch::Hit> Watch::look_at_values(const Message& message, std::int64_t from) const {
  const auto size = static_cast<std::int64_t>(size_of(message.format->element));
  const std::int64_t rows = is_stream_ ? std::ssize(levels_) : 1;
  const std::int64_t row = std::ssize(message.payload) / size / rows;
  const std::int64_t begin = is_stream_ ? from : 0;
  if (!is_stream_ && from > 0) return std::nullopt;
  std::int64_t first = row - begin;
  for (std::int64_t r = 0; r < rows; ++r)
    with_element(message.format->element, [&](auto kind) {
      first = std::min(first, first_that_holds<decltype(kind)>(
                                  condition_, message.payload.data() + (r * row + begin) * size, row - begin));
    });
  if (first >= row - begin) return std::nullopt;
  return is_stream_ ? Hit{begin + first, begin + first + 1} : Hit{0, message.extent};
}

std::optional<Watch::Hit> Watch::look_at_time(const Message& message, std::int64_t from) {
  if (is_over_) return std::nullopt;
  const double rate = is_stream_ ? message.format->item_rate_hz : 0;
  const std::int64_t ahead_ns = saturated_sub(condition_.time_ns, message.time_ns);
  const double ahead = std::ceil(static_cast<double>(ahead_ns) * rate / 1e9);
  const bool is_later = rate > 0 ? ahead >= static_cast<double>(message.extent) : message.time_ns < condition_.time_ns;
  if (is_later) return std::nullopt;
  is_over_ = true;
  const auto at = static_cast<std::int64_t>(std::max(static_cast<double>(from), ahead));
  return Hit{at, at + 1};
}

}  // namespace iqd::radio::trigger
