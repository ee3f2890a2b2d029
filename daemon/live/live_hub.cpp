// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/live_hub.hpp"

#include <algorithm>
#include <utility>

namespace iqd::live {

void LiveHub::put(Message message) {
  const auto shared = std::make_shared<const Message>(std::move(message));
  {
    const std::lock_guard lock(mutex_);
    for (Viewer* viewer : all_)
      if (viewer->wants(*shared)) viewer->add(shared);
  }
  news_.notify_all();
}

void LiveHub::tell(std::string text) {
  const auto shared = std::make_shared<const Message>(Message{true, Message::kForAll, std::move(text)});
  {
    const std::lock_guard lock(mutex_);
    for (Viewer* viewer : all_)
      if (viewer->is_greeted_) viewer->add_text(shared);
  }
  news_.notify_all();
}

void LiveHub::greet(const std::vector<std::string>& texts) {
  std::vector<Shared> shared;
  for (const std::string& text : texts)
    shared.push_back(std::make_shared<const Message>(Message{true, Message::kForAll, text}));
  {
    const std::lock_guard lock(mutex_);
    for (Viewer* viewer : all_) {
      if (std::exchange(viewer->is_greeted_, true)) continue;
      for (const Shared& text : shared) viewer->add_text(text);
    }
  }
  news_.notify_all();
}

void LiveHub::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  news_.notify_all();
  arrival_.notify_all();
}

TraceSet LiveHub::wanted() const {
  const std::lock_guard lock(mutex_);
  TraceSet all;
  for (const Viewer* viewer : all_) all |= viewer->traces_;
  return all;
}

bool LiveHub::wait_for_viewer() {
  std::unique_lock lock(mutex_);
  arrival_.wait(lock, [this] { return is_closed_ || !all_.empty(); });
  return !is_closed_;
}

bool LiveHub::pause(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  const std::uint64_t before = changes();
  arrival_.wait_for(lock, most, [&] { return is_closed_ || changes() != before; });
  return !is_closed_;
}

/// With the lock held.
void LiveHub::changed() noexcept {
  count_.store(all_.size(), std::memory_order_relaxed);
  changes_.fetch_add(1, std::memory_order_release);
}

LiveHub::Viewer::Viewer(LiveHub& hub, TraceSet traces) : hub_(hub), traces_(traces) {
  {
    const std::lock_guard lock(hub_.mutex_);
    is_in_ = hub_.all_.size() < kMostViewers;
    if (!is_in_) return;
    hub_.all_.push_back(this);
    hub_.changed();
  }
  hub_.arrival_.notify_all();
}

LiveHub::Viewer::~Viewer() {
  if (!is_in_) return;
  {
    const std::lock_guard lock(hub_.mutex_);
    std::erase(hub_.all_, this);
    hub_.changed();
  }
  hub_.arrival_.notify_all();
}

bool LiveHub::Viewer::next(std::vector<Shared>& out) {
  out.clear();
  std::unique_lock lock(hub_.mutex_);
  hub_.news_.wait_for(lock, std::chrono::seconds(1), [this] { return hub_.is_closed_ || !queue_.empty(); });
  if (hub_.is_closed_ || texts_ > kMostTexts) return false;
  if (queue_.size() - texts_ > kKept) skip();
  for (Queued& queued : queue_) out.push_back(std::move(queued.message));
  queue_.clear();
  texts_ = 0;
  return true;
}

bool LiveHub::Viewer::wants(const Message& message) const noexcept {
  return is_greeted_ && (message.trace < 0 || traces_.test(static_cast<std::size_t>(message.trace)));
}

void LiveHub::Viewer::add(const Shared& message) {
  if (queue_.size() - texts_ >= kMostQueued) {
    queue_.erase(std::ranges::find(queue_, true, &Queued::may_be_missed));
    ++hub_.skipped_;
  }
  queue_.push_back({message, true});
}

void LiveHub::Viewer::add_text(const Shared& text) {
  queue_.push_back({text, false});
  ++texts_;
}

/// Keeps the newest message of each trace, and the newest of those for all.
void LiveHub::Viewer::skip() {
  std::bitset<TraceSet().size() + 1> seen;
  std::deque<Queued> kept;
  for (; !queue_.empty(); queue_.pop_back()) {
    Queued& newest = queue_.back();
    const auto number = static_cast<std::size_t>(newest.message->trace) + 1;
    if (newest.may_be_missed && seen.test(number)) {
      ++hub_.skipped_;
      continue;
    }
    if (newest.may_be_missed) seen.set(number);
    kept.push_front(std::move(newest));
  }
  queue_ = std::move(kept);
}

}  // namespace iqd::live
