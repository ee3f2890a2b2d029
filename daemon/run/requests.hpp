// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <mutex>

#include "daemon/http/service.hpp"
#include "daemon/run/signals.hpp"

namespace iqd {

/// Changes that other threads ask for and the main thread makes, one after the other.
class Requests {
 public:
  explicit Requests(const Signals& main) : main_(main) {}
  /// Another thread: waits until it was made, or refused.
  ChangeReport ask(std::function<ChangeReport()> change);

  // The main thread. Before `open` and after `close` everything is refused.
  void open();
  void make_all();
  void close();

 private:
  using Request = std::packaged_task<ChangeReport()>;
  const Signals& main_;
  std::mutex mutex_;
  std::deque<Request> waiting_;
  bool is_open_ = false;
};

}  // namespace iqd
