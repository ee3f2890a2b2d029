// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/pool.hpp"
#include "config/fields.hpp"
#include "pipeline/ordered_plan.hpp"

namespace iqd::testing {

/// What a test decides about a pool, and sees of it.
struct LoopbackRules {
  int workers = 2;
  int most = 8;
  int jitter_us = 0;
  std::int64_t most_block = 1 << 20;
  std::function<std::optional<PoolLoss>(const SampleBlock&)> loses{};  // instead of computing it
  std::function<bool(const SampleBlock&)> is_wrong{};                  // comes back with other positions before
  OrderedPlan::Choose backends = on_cpu;                               // of its hosts
  std::atomic<int> sent{0};
  std::atomic<int> refused{0};
  std::atomic<bool> has_room{true};
  std::vector<std::string> orders;

  static ChosenBackends on_cpu(PipelineSpec& spec) {
    spec.backend = {"cpu"};
    return choose_backends(spec);
  }
};

/// A pool whose hosts are threads of this process. They get what other hosts would get: the text of the order, and the
/// bytes of the samples.
class LoopbackPool final : public Pool {
 public:
  LoopbackPool(LoopbackRules& rules, const Catalogue& catalogue) : rules_(rules), catalogue_(catalogue) {
    for (int w = 0; w < rules_.workers; ++w) threads_.emplace_back([this] { work(); });
  }
  ~LoopbackPool() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    come_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  bool has_room() const noexcept override { return is_interrupted_ || (rules_.has_room && out_ < rules_.most); }
  void send(const PoolBlock& block, PoolTicket& ticket) noexcept override {
    ++out_;
    ++rules_.sent;
    {
      const std::lock_guard lock(mutex_);
      todo_.push_back({block, &ticket});
    }
    come_.notify_one();
  }
  void add(PoolWaiter& waiter) override {
    const std::lock_guard lock(waiters_mutex_);
    waiters_.insert(&waiter);
  }
  void remove(PoolWaiter& waiter) override {
    const std::lock_guard lock(waiters_mutex_);
    waiters_.erase(&waiter);
  }
  void wake() {
    const std::lock_guard lock(waiters_mutex_);
    for (PoolWaiter* waiter : waiters_) waiter->may_have_room();
  }
  void interrupt() noexcept override {
    is_interrupted_ = true;
    wake();
  }
  std::string refuses(const PoolNeeds& needs) const override {
    return needs.block > rules_.most_block ? "the block is too long" : "";
  }
  std::string failure() const override { return {}; }
  PoolStatus status() const override { return {}; }

 private:
  struct Todo {
    PoolBlock block;
    PoolTicket* ticket;
  };
  /// Bytes as they come over a network, and the ports in them.
  struct Bytes final : PoolResult {
    std::deque<std::vector<std::byte>> data;
    std::vector<PoolPort> all;
    std::span<const PoolPort> ports() const noexcept override { return all; }
  };

  void work() {
    std::map<std::string, std::unique_ptr<OrderedPlan>> plans;
    std::mt19937 random(static_cast<unsigned>(out_.load()));
    for (;;) {
      Todo todo{};
      {
        std::unique_lock lock(mutex_);
        come_.wait(lock, [this] { return ends_ || !todo_.empty(); });
        if (todo_.empty()) return;
        todo = todo_.front();
        todo_.pop_front();
      }
      if (rules_.jitter_us > 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random() % static_cast<unsigned>(rules_.jitter_us)));
      settle(todo, plans);
    }
  }

  void settle(const Todo& todo, std::map<std::string, std::unique_ptr<OrderedPlan>>& plans) {
    const SampleBlock& block = *todo.block.block;
    const std::optional<PoolLoss> loss = is_interrupted_ ? PoolLoss::stopped
                                         : rules_.loses  ? rules_.loses(block)
                                                         : std::nullopt;
    --out_;
    const auto give = [&](auto what) {
      const std::lock_guard lock(waiters_mutex_);
      todo.ticket->settle(std::move(what));
    };
    if (loss) return give(*loss);
    std::unique_ptr<OrderedPlan>& plan = plans[todo.block.order->hash];
    if (!plan) {
      plan = std::make_unique<OrderedPlan>(*todo.block.order, catalogue_, rules_.backends, 1, 1 << 24);
      const std::lock_guard lock(mutex_);
      rules_.orders.push_back(todo.block.order->text);
    }
    auto result = compute(*plan, todo.block);
    if (rules_.is_wrong && rules_.is_wrong(block)) {
      const std::vector<std::pair<std::int64_t, std::int64_t>> lies{
          {0, kMostPosition + 1}, {0, INT64_MIN}, {0, INT64_MAX}, {INT64_MIN, 1}, {INT64_MAX, 1}, {-1, 2}};
      for (const auto& [first, length] : lies) {
        // So many rows of any power of two bytes have, computed carelessly, none.
        std::vector<PoolPort> wrong = result->all;
        for (PoolPort& port : wrong) port.first = first, port.length = length, port.data = {};
        if (todo.ticket->takes(wrong)) ADD_FAILURE() << "it took " << length << " items at " << first;
      }
      std::vector<PoolPort> wrong = result->all;
      for (PoolPort& port : wrong) ++port.length;
      if (todo.ticket->takes(wrong)) ADD_FAILURE() << "it took positions that are not expected";
      ++rules_.refused;
    }
    if (!todo.ticket->takes(result->ports())) {
      ADD_FAILURE() << "the result of block " << block.seq << " does not fit";
      return give(PoolLoss::lost);
    }
    give(std::unique_ptr<PoolResult>(std::move(result)));
  }

  static std::unique_ptr<Bytes> compute(OrderedPlan& plan, const PoolBlock& sent) {
    std::vector<std::byte> samples;
    for (std::int64_t r = 0; r < sent.rows; ++r)
      samples.insert(samples.end(), sent.samples + r * sent.pitch, sent.samples + r * sent.pitch + sent.row_bytes);
    EXPECT_TRUE(plan.compute(0, {*sent.block, samples}));
    auto result = std::make_unique<Bytes>();
    for (std::size_t i = 0; i < plan.results(); ++i) {
      const OrderedPlan::Result from = plan.result(0, i);
      std::vector<std::byte>& data = result->data.emplace_back();
      for (std::int64_t r = 0; r < from.rows; ++r)
        data.insert(data.end(), from.data + r * from.pitch, from.data + r * from.pitch + from.row_bytes);
      result->all.push_back(from.port);
      result->all.back().data = data;
    }
    return result;
  }

  LoopbackRules& rules_;
  const Catalogue catalogue_;
  std::atomic<int> out_{0};
  std::atomic<bool> is_interrupted_{false};
  std::mutex waiters_mutex_;
  std::set<PoolWaiter*> waiters_;
  std::mutex mutex_;
  std::condition_variable come_;
  std::deque<Todo> todo_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

/// The pool of the pipelines that the test makes; it is set before.
struct LoopbackTheatre {
  LoopbackRules rules;
  Catalogue catalogue;
  std::weak_ptr<LoopbackPool> pool;
  PoolNeeds needs;

  static LoopbackTheatre*& now() {
    static LoopbackTheatre* instance = nullptr;
    return instance;
  }
  explicit LoopbackTheatre(const Catalogue& of) : catalogue(of) {
    now() = this;
    catalogue.make_pool = []() -> std::unique_ptr<PoolOptions> { return std::make_unique<Options>(); };
  }
  ~LoopbackTheatre() { now() = nullptr; }

 private:
  class Options final : public PoolOptions {
   public:
    void fields(FieldVisitor& v) override { v.field("servers", servers_, {.help = "where", .required = true}); }
    void check(const Section&) const override {}
    int most_out(const PoolNeeds&) const override { return now()->rules.most; }
    Needs needs(const PoolNeeds&) const override { return {}; }
    std::shared_ptr<Pool> open(const PoolNeeds& needs) const override {
      now()->needs = needs;
      auto made = std::make_shared<LoopbackPool>(now()->rules, now()->catalogue);
      now()->pool = made;
      return made;
    }

   private:
    std::vector<std::string> servers_;
  };
};

}  // namespace iqd::testing
