// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/python/keeper.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "pipeline/stages/math/python/crew.hpp"

namespace iqd::python {
namespace {

constexpr std::int64_t kRecentNs = 2'000'000'000;
constexpr std::size_t kMostRecent = 4;

/// Blocks all signals in threads that are started while it lives.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Keeper& Keeper::instance() {
  static Keeper keeper;
  return keeper;
}

Keeper::Keeper() : bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  log::debug("the processes of `python` stages have a keeper");  // so the log outlives it
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
  ::pthread_setname_np(thread_.native_handle(), "iqd-python");
}

Keeper::~Keeper() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ring();
  thread_.join();
  recent_.clear();
}

std::shared_ptr<Crew> Keeper::crew_for(const Job& job, const Areas& areas) {
  const std::string key = job.key();
  std::vector<std::shared_ptr<Crew>> known;  // released without the mutex
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(by_key_, [](const auto& of) { return of.second.expired(); });
    for (auto [at, end] = by_key_.equal_range(key); at != end; ++at) known.push_back(at->second.lock());
  }
  const auto fits = [&](const std::shared_ptr<Crew>& c) { return c && c->can_take(areas); };
  const auto at = std::ranges::find_if(known, fits);
  const std::shared_ptr<Crew> crew = at != known.end() ? *at : std::make_shared<Crew>(job, areas);
  const std::lock_guard lock(mutex_);
  if (at == known.end()) by_key_.emplace(key, crew);
  return crew;
}

void Keeper::keep(std::shared_ptr<Crew> crew) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(recent_, [&](const Recent& r) { return r.crew == crew; });
    recent_.push_back({std::move(crew), steady_ns() + kRecentNs});
  }
  ring();
}

void Keeper::ring() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_.get(), &one, sizeof one);
}

void Keeper::add(Crew& crew) {
  {
    const std::lock_guard lock(mutex_);
    crews_.push_back(&crew);
  }
  ring();
}

void Keeper::remove(Crew& crew) {
  const std::lock_guard lock(mutex_);
  std::erase(crews_, &crew);
}

void Keeper::run() {
  for (;;) {
    wait();
    release_unused();
    const std::lock_guard lock(mutex_);
    if (is_ending_) return;
    for (Crew* crew : crews_) crew->look(steady_ns());
  }
}

/// Until something happens or is due.
void Keeper::wait() {
  std::vector<pollfd> files{{bell_.get(), POLLIN, 0}};
  std::int64_t due = std::numeric_limits<std::int64_t>::max();
  {
    const std::lock_guard lock(mutex_);
    for (const Crew* crew : crews_) due = std::min(due, crew->add_files(files));
    for (const Recent& recent : recent_) due = std::min(due, recent.until_ns);
  }
  const std::int64_t left_ms = due == std::numeric_limits<std::int64_t>::max()
                                   ? -1
                                   : std::clamp<std::int64_t>((due - steady_ns()) / 1'000'000 + 1, 0, 60'000);
  ::poll(files.data(), files.size(), static_cast<int>(left_ms));
  std::uint64_t rings;
  [[maybe_unused]] const auto read = ::read(bell_.get(), &rings, sizeof rings);
}

/// A crew's destructor waits for the keeper's mutex.
void Keeper::release_unused() {
  std::vector<std::shared_ptr<Crew>> unused;
  const std::lock_guard lock(mutex_);
  const std::int64_t now = steady_ns();
  while (!recent_.empty() && (recent_.front().until_ns <= now || recent_.size() > kMostRecent)) {
    unused.push_back(std::move(recent_.front().crew));
    recent_.pop_front();
  }
}

}  // namespace iqd::python
