// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <thread>

#include "daemon/live/live_hub.hpp"
#include "daemon/live/live_subject.hpp"
#include "daemon/live/trace_table.hpp"

namespace iqd::live {

/// What `hello` says besides the traces.
struct LiveFacts {
  std::string version;
  std::string host;
  double started_s = 0;   // since 1970
  std::string changes;    // yes, token, no
  std::string why_not{};  // with `no`
  bool recordings = false;
  std::string grafana{};
};

/// The thread `iqd-live`: makes messages for the hub while somebody looks, and sleeps otherwise. It has the lowest
/// priority of iqd's threads.
class LiveThread {
 public:
  /// Both have to outlive it.
  LiveThread(LiveHub& hub, const LiveSubject& subject, LiveFacts facts);
  /// Closes the hub.
  ~LiveThread();
  LiveThread(const LiveThread&) = delete;
  LiveThread& operator=(const LiveThread&) = delete;

 private:
  void run();
  void watch();
  void look_around();
  void greet();
  void put_log();
  void put_status();
  void put_peers(std::int64_t now);
  std::string hello() const;

  LiveHub& hub_;
  const LiveSubject& subject_;
  const LiveFacts facts_;
  TraceTable table_;
  std::uint64_t changes_ = 0;  // of the hub, as last seen
  std::uint64_t logged_ = 0;   // number of the last line that was put
  std::int64_t look_ns_ = 0;   // when to look for other traces
  std::int64_t status_ns_ = 0;
  std::string peers_;  // as they were put
  std::int64_t peers_ns_ = 0;
  std::thread thread_;
};

}  // namespace iqd::live
