// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/live_hub.hpp"

#include <algorithm>
#include <utility>

namespace iqd::live {

void LiveHub::put(Message message) {
  auto shared = std::make_shared<const Message>(std::move(message));
  {
    const std::lock_guard lock(mutex_);
    ring_[head_ % kRing] = std::move(shared);
    ++head_;
  }
  news_.notify_all();
}

void LiveHub::tell(std::string text) {
  const auto shared = std::make_shared<const Message>(Message{true, Message::kForAll, std::move(text)});
  {
    const std::lock_guard lock(mutex_);
    for (Viewer* viewer : all_)
      if (viewer->is_greeted_) viewer->own_.push_back(shared);
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
      viewer->own_.assign(shared.begin(), shared.end());
      viewer->at_ = head_;
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
  const auto ends = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  out.clear();
  std::unique_lock lock(hub_.mutex_);
  do {
    const bool has_more = hub_.news_.wait_until(lock, ends, [this] { return hub_.is_closed_ || has_news(); });
    if (hub_.is_closed_ || own_.size() > kMostTexts) return false;
    if (!has_more) return true;
    fetch(out);
  } while (out.empty());  // what was new is for others
  return true;
}

bool LiveHub::Viewer::has_news() const noexcept {
  return is_greeted_ && (!own_.empty() || at_ != hub_.head_);
}

void LiveHub::Viewer::fetch(std::vector<Shared>& out) {
  if (hub_.head_ - at_ > kRing) {
    hub_.skipped_ += hub_.head_ - at_ - kRing;
    at_ = hub_.head_ - kRing;
  }
  for (; at_ != hub_.head_; ++at_) {
    const Shared& message = hub_.ring_[at_ % kRing];
    if (message->trace < 0 || traces_.test(static_cast<std::size_t>(message->trace))) out.push_back(message);
  }
  if (out.size() > kKept) skip(out);
  out.insert(out.begin(), own_.begin(), own_.end());
  own_.clear();
}

/// Keeps the newest message of each trace, and the newest of those for all.
void LiveHub::Viewer::skip(std::vector<Shared>& out) const {
  std::bitset<257> seen;
  std::vector<Shared> newest;
  for (std::size_t i = out.size(); i-- > 0;) {
    const auto number = static_cast<std::size_t>(out[i]->trace + 1);
    if (seen.test(number)) continue;
    seen.set(number);
    newest.push_back(std::move(out[i]));
  }
  hub_.skipped_ += out.size() - newest.size();
  out.assign(newest.rbegin(), newest.rend());
}

}  // namespace iqd::live
