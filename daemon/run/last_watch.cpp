// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/last_watch.hpp"

#include <csignal>
#include <system_error>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "daemon/run/end_at_once.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kEndNs = 4'500'000'000;

}  // namespace

LastWatch::~LastWatch() {
  over_ = true;
  signals_.wake();
  if (thread_.joinable()) thread_.join();
}

void LastWatch::begin(std::int64_t asked_ns, Exit exit) {
  try {
    thread_ = std::thread([this, asked_ns, exit] { watch(asked_ns, exit); });
  } catch (const std::system_error& e) {
    log::warn("cannot start the thread that limits the time to shut down: {}", e.what());
  }
}

void LastWatch::watch(std::int64_t asked_ns, Exit exit) const {
  while (!over_) {
    const int signal = signals_.wait();
    if (signal == SIGINT || signal == SIGTERM) {
      if (asked_ns) end_at_once(Exit::failed);
      asked_ns = steady_ns();
    }
    if (over_ || !asked_ns || steady_ns() - asked_ns < kEndNs) continue;
    log::warn("sockets or devices take too long to close: exiting without them");
    end_at_once(exit);
  }
}

}  // namespace iqd
