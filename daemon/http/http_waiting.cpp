// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_waiting.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.hpp"

namespace iqd {
namespace {

/// By then, a request sent right after connecting has arrived.
constexpr std::int64_t kGraceNs = 10'000'000;

}  // namespace

void HttpWaiting::came(int file, std::string peer) {
  while (!make_room()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::lock_guard lock(mutex_);
  connections_.push_back({file, std::move(peer), steady_ns()});
}

/// False if the oldest waiting connection is only just open: its request may be on its way.
bool HttpWaiting::make_room() noexcept {
  const std::lock_guard lock(mutex_);
  const auto waits = [](const Connection& c) { return !c.is_cut_off && !c.is_busy; };
  if (!all_taken()) return true;
  const auto oldest = std::ranges::find_if(connections_, waits);
  if (oldest == connections_.end()) return true;
  if (steady_ns() - oldest->since_ns < kGraceNs) return false;
  ::shutdown(oldest->file, SHUT_RDWR);
  oldest->is_cut_off = true;
  return true;
}

bool HttpWaiting::all_taken() const noexcept {
  const auto cut_off = std::ranges::count_if(connections_, &Connection::is_cut_off);
  return connections_.size() - static_cast<std::size_t>(cut_off) >= threads_;
}

bool HttpWaiting::is_full() {
  const std::lock_guard lock(mutex_);
  return all_taken();
}

void HttpWaiting::end(std::string_view peer) noexcept {
  const std::lock_guard lock(mutex_);
  if (const Connection* c = find(peer)) ::shutdown(c->file, SHUT_RDWR);
}

void HttpWaiting::left(std::string_view peer) noexcept {
  const std::lock_guard lock(mutex_);
  if (Connection* c = find(peer)) connections_.erase(connections_.begin() + (c - connections_.data()));
}

/// Moves the connection to the end, since its wait starts now.
void HttpWaiting::set_busy(std::string_view peer, bool is_busy) noexcept {
  const std::lock_guard lock(mutex_);
  Connection* c = find(peer);
  if (!c) return;
  c->is_busy = is_busy;
  c->since_ns = steady_ns();
  std::rotate(connections_.begin() + (c - connections_.data()), connections_.begin() + (c - connections_.data()) + 1,
              connections_.end());
}

HttpWaiting::Connection* HttpWaiting::find(std::string_view peer) noexcept {
  const auto found = std::ranges::find(connections_, peer, &Connection::peer);
  return found == connections_.end() ? nullptr : &*found;
}

}  // namespace iqd
