// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace iqd {

/// Asks other iqds whether they are ready, every five seconds while somebody wants to know. It has a few threads, so that
/// peers that do not answer keep few others waiting.
class PeerWatch {
 public:
  /// Addresses as in `monitor: peers`. Without any, there are no threads.
  explicit PeerWatch(const std::vector<std::string>& peers);
  /// Waits for a second at most: a name server that does not answer keeps nobody waiting.
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// Asks nobody any more, so that little is left to wait for. Any thread.
  void close();

  /// The last answers as a JSON list; `unknown` until a peer has answered. Empty without peers. Any thread.
  std::string text() const;

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  // null without peers
  std::vector<std::thread> threads_;
};

/// As a link: `http://lab2:9464/`. Throws UsageError unless it is the address of a monitor.
std::string peer_url(const std::string& peer);

}  // namespace iqd
