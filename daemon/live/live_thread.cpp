// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/live_thread.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace iqd::live {
namespace {

constexpr int kNice = 10;
/// Between two looks at the outlets' buffers; a row is late by at most this.
constexpr std::chrono::milliseconds kPoll{8};
constexpr std::int64_t kLookNs = 200'000'000;
constexpr std::int64_t kStatusNs = 500'000'000;
constexpr std::int64_t kPeersNs = 5'000'000'000;
/// Of the log: for a new viewer, and at once.
constexpr std::size_t kGreetingLines = 50;
constexpr std::size_t kMostLines = 256;

nlohmann::json log_json(const std::vector<log::Line>& lines) {
  nlohmann::json all = nlohmann::json::array();
  for (const log::Line& line : lines)
    all.push_back({{"time_s", static_cast<double>(line.time_ns) / 1e9},
                   {"level", log::name_of(line.level)},
                   {"text", line.text}});
  return {{"log", std::move(all)}};
}

}  // namespace

LiveThread::LiveThread(LiveHub& hub, const LiveSubject& subject, LiveFacts facts)
    : hub_(hub), subject_(subject), facts_(std::move(facts)), thread_([this] { run(); }) {}

LiveThread::~LiveThread() {
  hub_.close();
  thread_.join();
}

void LiveThread::run() {
  ::pthread_setname_np(::pthread_self(), "iqd-live");
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  while (hub_.wait_for_viewer()) {
    try {
      watch();
    } catch (const std::exception& e) {
      log::error("live page: {}", e.what());
      hub_.pause(std::chrono::seconds(1));
    }
    table_.aim({});
  }
}

void LiveThread::watch() {
  changes_ = 0;  // greets, and tells outlets what is wanted
  look_ns_ = status_ns_ = peers_ns_ = 0;
  do {
    const std::int64_t now = steady_ns();
    if (now >= look_ns_ || hub_.changes() != changes_) {
      look_around();
      put_peers(now);
      look_ns_ = now + kLookNs;
    }
    table_.collect(hub_);
    if (now >= status_ns_) {
      put_status();
      status_ns_ = now + kStatusNs;
    }
  } while (hub_.pause(kPoll) && hub_.is_watched());
}

/// Other traces, other viewers, new lines of the log.
void LiveThread::look_around() {
  const bool have_others_come = table_.renew(subject_.pipelines());
  const std::uint64_t changes = hub_.changes();
  if (have_others_come) hub_.tell(hello());
  put_log();
  if (have_others_come || changes != changes_) table_.aim(hub_.wanted());
  if (changes != changes_) greet();
  changes_ = changes;
}

void LiveThread::greet() {
  std::vector<log::Line> lines = log::lines_after(0, kGreetingLines);
  // Newer ones come to all viewers.
  std::erase_if(lines, [this](const log::Line& line) { return line.number > logged_; });
  hub_.greet({hello(), text_of(log_json(lines))});
  status_ns_ = peers_ns_ = 0;
}

void LiveThread::put_log() {
  const std::vector<log::Line> lines = log::lines_after(logged_, kMostLines);
  if (lines.empty()) return;
  logged_ = lines.back().number;
  hub_.tell(text_of(log_json(lines)));
}

void LiveThread::put_status() {
  const LiveSubject::Look look = subject_.look();
  hub_.put({true, LiveHub::Message::kForAll, "{\"status\":" + look.status + "}"});
  table_.show_latencies(look, static_cast<double>(wall_ns()) / 1e9, hub_);
}

/// At once if something has changed.
void LiveThread::put_peers(std::int64_t now) {
  std::string peers = subject_.peers();
  if (peers.empty() || (peers == peers_ && now < peers_ns_)) return;
  hub_.put({true, LiveHub::Message::kForAll, "{\"peers\":" + peers + "}"});
  peers_ = std::move(peers);
  peers_ns_ = now + kPeersNs;
}

std::string LiveThread::hello() const {
  return text_of({{"hello",
                   {{"v", 1},
                    {"version", facts_.version},
                    {"host", facts_.host},
                    {"started_s", facts_.started_s},
                    {"changes", facts_.changes},
                    {"why", facts_.why_not},
                    {"recordings", facts_.recordings},
                    {"grafana", facts_.grafana},
                    {"traces", table_.descriptions()}}}});
}

}  // namespace iqd::live
