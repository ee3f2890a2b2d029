// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/peer_watch.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

#include "daemon/call/http_exchange.hpp"

namespace iqd {
namespace {

constexpr auto kPause = std::chrono::seconds(5);
constexpr auto kPatience = std::chrono::seconds(1);
constexpr std::size_t kLargestReply = 64 << 10;
constexpr std::size_t kLongestReason = 500;

/// The lines of `/readyz` in one.
std::string reasons_in(std::string body) {
  while (body.ends_with('\n')) body.pop_back();
  std::string text;
  for (const char c : body) text += c == '\n' ? "; " : std::string(1, c);
  if (text.size() > kLongestReason) text = text.substr(0, kLongestReason) + "…";
  return text;
}

nlohmann::json answer_of(const MonitorAddress& peer) {
  nlohmann::json answer = {{"url", fmt::format("http://{}/", peer.text())}, {"state", "unreachable"}, {"why", ""}};
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
  explicit State(std::vector<MonitorAddress> addresses) : peers(std::move(addresses)) {}

  const std::vector<MonitorAddress> peers;
  std::mutex mutex;
  std::condition_variable news;
  bool is_asked = false;
  bool is_over = false;
  bool has_ended = false;  // the thread
  std::string text;
};

PeerWatch::PeerWatch(const std::vector<std::string>& peers) {
  if (peers.empty()) return;
  std::vector<MonitorAddress> addresses;
  for (const std::string& peer : peers) addresses.push_back(parse_monitor_address(peer));
  state_ = std::make_shared<State>(std::move(addresses));
  thread_ = std::thread([state = state_] { run(state); });
}

PeerWatch::~PeerWatch() {
  if (!state_) return;
  std::unique_lock lock(state_->mutex);
  state_->is_over = true;
  state_->news.notify_all();
  const bool has_ended = state_->news.wait_for(lock, kPatience, [this] { return state_->has_ended; });
  lock.unlock();
  if (has_ended)
    thread_.join();
  else
    thread_.detach();
}

std::string PeerWatch::text() const {
  if (!state_) return {};
  const std::lock_guard lock(state_->mutex);
  state_->is_asked = true;
  state_->news.notify_all();
  return state_->text;
}

/// Uses nothing but the state, since it may outlive the object.
void PeerWatch::run(const std::shared_ptr<State>& state) {
  ::pthread_setname_np(::pthread_self(), "iqd-peers");
  std::unique_lock lock(state->mutex);
  while (!state->is_over) {
    state->news.wait(lock, [&] { return state->is_over || state->is_asked; });
    state->is_asked = false;
    nlohmann::json all = nlohmann::json::array();
    for (const MonitorAddress& peer : state->peers) {
      if (state->is_over) break;
      lock.unlock();
      nlohmann::json answer = answer_of(peer);
      lock.lock();
      all.push_back(std::move(answer));
    }
    state->text = all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    state->news.wait_for(lock, kPause, [&] { return state->is_over; });
  }
  state->has_ended = true;
  state->news.notify_all();
}

std::string peer_url(const std::string& peer) {
  return fmt::format("http://{}/", parse_monitor_address(peer).text());
}

}  // namespace iqd
