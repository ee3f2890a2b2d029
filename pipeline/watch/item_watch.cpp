// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/watch/item_watch.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/item_start.hpp"

namespace iqd {
namespace {

double number_of(float x) noexcept {
  return static_cast<double>(x);
}
double number_of(f16 x) noexcept {
  return static_cast<double>(to_float(x));
}
template <class T>
requires std::is_integral_v<T>
double number_of(T x) noexcept {
  return static_cast<double>(x);
}
template <class T> double number_of(T) noexcept {
  return std::numeric_limits<double>::quiet_NaN();  // complex facts have no curve
}

double number_at(const FactColumn& column, std::int64_t item) noexcept {
  return with_element(column.element, [&](auto kind) {
    std::memcpy(&kind, column.values + static_cast<std::size_t>(item) * sizeof kind, sizeof kind);
    return number_of(kind);
  });
}

}  // namespace

ItemWatch::ItemWatch(const PortFormat& format, std::vector<std::string> facts, double per_second)
    : WatchOutlet(format, WatchKind::items, WatchGrid(format, {}),
                  kMostItems * static_cast<std::int64_t>((1 + facts.size()) * sizeof(double)), per_second, true),
      facts_(std::move(facts)) {}

bool ItemWatch::copy(const Message& message, WatchCopy& into) noexcept {
  if (into.messages == 0) into.count = 0;
  auto* const kept = reinterpret_cast<double*>(trace_at(into, 0));
  const auto width = static_cast<std::int64_t>(1 + facts_.size());
  // Of those that would be overwritten by later ones of the same message, only the number counts.
  const std::int64_t skipped = std::max<std::int64_t>(message.extent - kMostItems, 0);
  into.count += skipped;
  for (std::int64_t i = skipped; i < message.extent; ++i) add(message, i, kept + into.count++ % kMostItems * width);
  return message.extent > 0;
}

void ItemWatch::add(const Message& message, std::int64_t item, double* to) const noexcept {
  std::fill_n(to, 1 + facts_.size(), std::numeric_limits<double>::quiet_NaN());
  std::int64_t time_ns = message.time_ns;
  for (const FactColumn& column : message.facts) {
    if (has_starts(column)) time_ns = time_of(message, start_of(column, item));
    const auto at = std::ranges::find(facts_, column.key) - facts_.begin();
    if (at < std::ssize(facts_)) to[1 + at] = number_at(column, item);
  }
  to[0] = static_cast<double>(time_ns) / 1e9;
}

std::span<const double> ItemWatch::item(const WatchCopy& copy, std::int64_t i) const noexcept {
  const std::size_t width = 1 + facts_.size();
  const std::int64_t place = (copy.count - kept(copy) + i) % kMostItems;
  const auto* const all = reinterpret_cast<const double*>(trace_in(copy, 0));
  return {all + static_cast<std::size_t>(place) * width, width};
}

}  // namespace iqd
