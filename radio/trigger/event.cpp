// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/trigger/event.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace iqd::radio::trigger {
namespace {

constexpr std::size_t kMostHeard = 64;

struct Names {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Event>, std::less<>> all;
};

Names& names() {
  static Names names;
  return names;
}

}  // namespace

std::shared_ptr<Event> Event::named(const std::string& name) {
  const std::lock_guard lock(names().mutex);
  std::erase_if(names().all, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<Event> event = names().all[name].lock();
  if (!event) names().all[name] = event = std::make_shared<Event>();
  return event;
}

void Event::happens(std::optional<std::int64_t> time_ns) {
  const std::lock_guard lock(mutex_);
  for (Listener* l : listeners_) {
    if (l->heard_.size() >= kMostHeard) l->heard_.pop_front();
    l->heard_.push_back({time_ns});
  }
}

Event::Listener::Listener(std::shared_ptr<Event> event) : event_(std::move(event)) {
  const std::lock_guard lock(event_->mutex_);
  event_->listeners_.push_back(this);
}

Event::Listener::~Listener() {
  const std::lock_guard lock(event_->mutex_);
  std::erase(event_->listeners_, this);
}

std::optional<Event::Listener::Heard> Event::Listener::take() {
  const std::lock_guard lock(event_->mutex_);
  if (heard_.empty()) return std::nullopt;
  const Heard first = heard_.front();
  heard_.pop_front();
  return first;
}

std::size_t tell(std::string_view name) {
  std::vector<std::shared_ptr<Event>> told;
  {
    const std::lock_guard lock(names().mutex);
    for (const auto& [known, event] : names().all)
      if (auto held = event.lock(); held && (name.empty() || known == name)) told.push_back(std::move(held));
  }
  std::size_t listeners = 0;
  for (const auto& event : told) {
    event->happens(std::nullopt);
    const std::lock_guard lock(event->mutex_);
    listeners += event->listeners_.size();
  }
  return listeners;
}

}  // namespace iqd::radio::trigger
