// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/peer_watch.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/printable.hpp"
#include "daemon/call/http_exchange.hpp"
#include "daemon/http/small_stacks.hpp"

namespace iqd {
namespace {

constexpr auto kPause = std::chrono::seconds(5);
constexpr auto kPatience = std::chrono::seconds(1);
constexpr std::size_t kMostThreads = 8;
/// With locked memory, stacks are fully resident.
constexpr std::size_t kPeerStackBytes = 1 << 20;
constexpr std::size_t kLargestReply = 64 << 10;
constexpr std::size_t kLongestReason = 500;

/// The lines of `/readyz` in one.
std::string reasons_in(std::string body) {
  while (body.ends_with('\n')) body.pop_back();
  std::string text;
  for (const char c : body) text += c == '\n' ? "; " : std::string(1, c);
  if (text.size() > kLongestReason) text = utf8_start(text, kLongestReason) + "…";
  return text;
}

nlohmann::json answer_of(const MonitorAddress& peer, std::string_view state) {
  return {{"url", fmt::format("http://{}/", peer.text())}, {"state", state}, {"why", ""}};
}

nlohmann::json ask(const MonitorAddress& peer) {
  nlohmann::json answer = answer_of(peer, "unreachable");
  try {
    const HttpReply reply =
        exchange(peer, fmt::format("GET /readyz HTTP/1.0\r\nHost: {}\r\n\r\n", peer.text()), kPatience, kLargestReply);
    if (reply.status == 200)
      answer["state"] = "ready";
    else if (reply.status == 503)
      answer["state"] = "not ready", answer["why"] = reasons_in(reply.body);
    else
      answer["why"] = fmt::format("it answers {}", reply.status);
  } catch (const NothingAnswers& e) {
    answer["why"] = e.why;
  } catch (const std::exception& e) {
    answer["why"] = e.what();
  }
  return answer;
}

}  // namespace

struct PeerWatch::State {
  using Clock = std::chrono::steady_clock;
  struct Peer {
    explicit Peer(MonitorAddress a) : address(std::move(a)), answer(answer_of(address, "unknown")) {}
    const MonitorAddress address;
    nlohmann::json answer;
    bool is_wanted = false;  // since it was asked
    bool is_busy = false;    // a thread asks it
    Clock::time_point due{};
  };
  /// There are at most as many threads as peers, so one is free for each thread.
  Peer& next() {
    return *std::ranges::min_element(peers, {}, [](const Peer& p) { return std::pair(p.is_busy, p.due); });
  }

  std::deque<Peer> peers;
  std::mutex mutex;
  std::condition_variable news;
  bool is_over = false;
  std::size_t running = 0;  // threads
};

PeerWatch::PeerWatch(const std::vector<std::string>& peers) {
  if (peers.empty()) return;
  state_ = std::make_shared<State>();
  for (const std::string& peer : peers) state_->peers.emplace_back(parse_monitor_address(peer));
  threads_.reserve(std::min(peers.size(), kMostThreads));
  try {
    const SmallStacks small(kPeerStackBytes);
    while (threads_.size() < std::min(peers.size(), kMostThreads))
      threads_.emplace_back([state = state_] { run(state); });
  } catch (const std::system_error&) {  // fewer do
    if (threads_.empty()) throw;
  }
  const std::lock_guard lock(state_->mutex);
  state_->running = threads_.size();
}

PeerWatch::~PeerWatch() {
  if (!state_) return;
  close();
  std::unique_lock lock(state_->mutex);
  const bool have_ended = state_->news.wait_for(lock, kPatience, [this] { return state_->running == 0; });
  lock.unlock();
  for (std::thread& thread : threads_)
    if (have_ended)
      thread.join();
    else
      thread.detach();
}

void PeerWatch::close() {
  if (!state_) return;
  const std::lock_guard lock(state_->mutex);
  state_->is_over = true;
  state_->news.notify_all();
}

std::string PeerWatch::text() const {
  if (!state_) return {};
  nlohmann::json all = nlohmann::json::array();
  const std::lock_guard lock(state_->mutex);
  for (State::Peer& peer : state_->peers) {
    if (!std::exchange(peer.is_wanted, true)) state_->news.notify_all();
    all.push_back(peer.answer);
  }
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Uses only the state: the thread may outlive the object.
void PeerWatch::run(const std::shared_ptr<State>& state) {
  ::pthread_setname_np(::pthread_self(), "iqd-peers");
  std::unique_lock lock(state->mutex);
  while (!state->is_over) {
    State::Peer& peer = state->next();
    if (!peer.is_wanted) {
      state->news.wait(lock);
    } else if (State::Clock::now() < peer.due) {
      state->news.wait_until(lock, peer.due);
    } else {
      peer.is_wanted = false;
      peer.is_busy = true;
      lock.unlock();
      nlohmann::json answer = ask(peer.address);
      lock.lock();
      peer.answer = std::move(answer);
      peer.is_busy = false;
      peer.due = State::Clock::now() + kPause;
    }
  }
  --state->running;
  state->news.notify_all();
}

std::string peer_url(const std::string& peer) {
  return fmt::format("http://{}/", parse_monitor_address(peer).text());
}

}  // namespace iqd
