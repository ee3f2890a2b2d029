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

/// Changes that other threads request and the main thread makes, one after the other.
class Requests {
 public:
  explicit Requests(const Signals& main) : main_(main) {}
  /// From another thread: waits until the change was made or refused.
  ChangeReport ask(std::function<ChangeReport()> change);

  // From the main thread. Before `open` and after `close`, all requests are refused; those that wait then, too.
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
