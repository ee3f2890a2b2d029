// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/late_pool.hpp"

#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace iqd::hosts {
namespace {

constexpr std::chrono::seconds kPause{1};

}  // namespace

LatePool::LatePool(PoolConfig config, PoolNeeds needs, std::string why)
    : config_(std::move(config)), needs_(std::move(needs)), why_(std::move(why)) {
  log::warn("{}; the lanes of this host compute alone until it is there", why_);
  thread_ = std::thread([this] { connect(); });
}

LatePool::~LatePool() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ends_.notify_all();
  thread_.join();
}

void LatePool::connect() {
  while (!try_once()) {
    std::unique_lock lock(mutex_);
    if (ends_.wait_for(lock, kPause, [this] { return has_ended_; })) return;
  }
  log::info("pool {}: connected", config_.name);
}

bool LatePool::try_once() {
  try {
    auto home = std::make_unique<PoolHome>(config_, needs_);
    const std::lock_guard lock(mutex_);
    why_.clear();
    for (PoolWaiter* const waiter : waiters_) home->add(*waiter);
    owned_ = std::move(home);
    home_.store(owned_.get(), std::memory_order_release);
    return true;
  } catch (const SetupError& e) {
    const std::lock_guard lock(mutex_);
    if (why_ != e.what()) log::warn("{}", e.what());
    why_ = e.what();
    return false;
  }
}

bool LatePool::has_room() const noexcept {
  const PoolHome* const pool = home();
  return pool && pool->has_room();
}

void LatePool::send(const PoolBlock& block, PoolTicket& ticket) noexcept {
  home()->send(block, ticket);
}

void LatePool::add(PoolWaiter& waiter) {
  const std::lock_guard lock(mutex_);
  waiters_.insert(&waiter);
  if (owned_) owned_->add(waiter);
}

void LatePool::remove(PoolWaiter& waiter) {
  const std::lock_guard lock(mutex_);
  waiters_.erase(&waiter);
  if (owned_) owned_->remove(waiter);
}

void LatePool::interrupt() noexcept {
  if (PoolHome* const pool = home()) pool->interrupt();
}

std::string LatePool::refuses(const PoolNeeds& needs) const {
  const PoolHome* const pool = home();
  return pool ? pool->refuses(needs) : "";
}

std::string LatePool::failure() const {
  const PoolHome* const pool = home();
  return pool ? pool->failure() : "";
}

PoolStatus LatePool::status() const {
  if (const PoolHome* const pool = home()) return pool->status();
  PoolStatus status;
  status.name = config_.name;
  const std::lock_guard lock(mutex_);
  status.trouble = why_;
  return status;
}

std::shared_ptr<Pool> open_pool(const PoolConfig& config, const PoolNeeds& needs) {
  try {
    return std::make_shared<PoolHome>(config, needs);
  } catch (const Unreachable& e) {
    if (needs.alone) throw;
    return std::make_shared<LatePool>(config, needs, e.what());
  }
}

}  // namespace iqd::hosts
