// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/trigger/stretch_finder.hpp"

#include <algorithm>

namespace iqd::radio::trigger {

StretchFinder::StretchFinder(const Settings& settings, const PortFormat& format)
    : settings_(settings), pre_(settings.pre(format)), post_(settings.post(format)) {
  if (!settings.when.empty()) watch_.emplace(require_condition(settings.when), format, settings.window(format));
  if (!settings.name.empty()) events_.emplace(settings.name, format.item_rate_hz);
}

std::optional<Stretch> StretchFinder::next(const Message& message, std::int64_t from, const Past& past) {
  std::optional<Stretch> stretch;
  const auto take = [&](std::int64_t at, std::int64_t end, std::string_view reason) {
    if (!stretch || at - pre_ < stretch->begin)
      stretch = Stretch{at - pre_, std::max(at + post_, end), at, end, reason};
  };
  if (events_)
    if (const auto at = events_->next(message, from, past)) take(*at, *at, settings_.name);
  if (watch_)
    if (const auto hit = watch_->look(message, from)) take(hit->begin, hit->end, settings_.when);
  if (stretch) stretch->begin = std::max(stretch->begin, from - past.usable());
  return stretch;
}

void StretchFinder::pass_over() {
  if (events_) events_->pass_over();
}

void StretchFinder::restart() noexcept {
  if (watch_) watch_->restart();
}

}  // namespace iqd::radio::trigger
