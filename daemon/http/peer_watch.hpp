// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace iqd {

/// Asks other iqds whether they are ready, every five seconds while somebody wants to know, in a thread of its own.
class PeerWatch {
 public:
  /// Addresses as in `monitor: peers`. Without any, there is no thread.
  explicit PeerWatch(const std::vector<std::string>& peers);
  /// Waits for a second at most: a name server that does not answer keeps nobody waiting.
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// The last answers as a JSON list; empty until there are some. Any thread.
  std::string text() const;

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  // null without peers
  std::thread thread_;
};

/// As a link: `http://lab2:9464/`. Throws UsageError unless it is the address of a monitor.
std::string peer_url(const std::string& peer);

}  // namespace iqd
