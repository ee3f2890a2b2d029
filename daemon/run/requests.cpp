// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/requests.hpp"

namespace iqd {
namespace {

/// Further requests are refused.
constexpr std::size_t kMostWaiting = 8;

ChangeReport busy(const char* why) {
  return {ChangeReport::Result::busy, {why}};
}

}  // namespace

ChangeReport Requests::ask(std::function<ChangeReport()> change) {
  Request request(std::move(change));
  std::future<ChangeReport> answer = request.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (!is_open_) return busy("iqd is starting or stopping");
    if (waiting_.size() >= kMostWaiting) return busy("too many changes are queued");
    waiting_.push_back(std::move(request));
  }
  main_.wake();
  try {
    return answer.get();
  } catch (const std::future_error&) {  // dropped by close()
    return busy("iqd is stopping");
  }
}

void Requests::open() {
  const std::lock_guard lock(mutex_);
  is_open_ = true;
}

void Requests::make_all() {
  for (;;) {
    Request request;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) return;
      request = std::move(waiting_.front());
      waiting_.pop_front();
    }
    request();
  }
}

void Requests::close() {
  const std::lock_guard lock(mutex_);
  is_open_ = false;
  waiting_.clear();
}

}  // namespace iqd
