// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "hosts/pool_home.hpp"

namespace iqd::hosts {

/// A pool whose server cannot be reached at first, for a home whose own lanes compute meanwhile. It has no room until a
/// thread of its own has connected.
class LatePool final : public Pool {
 public:
  /// `why`: what is wrong with the server.
  LatePool(PoolConfig config, PoolNeeds needs, std::string why);
  ~LatePool() override;

  bool has_room() const noexcept override;
  void send(const PoolBlock& block, PoolTicket& ticket) noexcept override;
  void add(PoolWaiter& waiter) override;
  void remove(PoolWaiter& waiter) override;
  void interrupt() noexcept override;
  std::string refuses(const PoolNeeds& needs) const override;
  std::string failure() const override;
  PoolStatus status() const override;

 private:
  void connect();
  bool try_once();
  /// Null until it is connected.
  PoolHome* home() const noexcept { return home_.load(std::memory_order_acquire); }

  const PoolConfig config_;
  const PoolNeeds needs_;
  std::unique_ptr<PoolHome> owned_;
  std::atomic<PoolHome*> home_{nullptr};
  mutable std::mutex mutex_;
  std::condition_variable ends_;
  bool has_ended_ = false;
  std::string why_;
  std::set<PoolWaiter*> waiters_;
  std::thread thread_;
};

}  // namespace iqd::hosts
