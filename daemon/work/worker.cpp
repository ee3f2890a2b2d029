// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/work/worker.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "pipeline/spec/work_order.hpp"

namespace iqd {
namespace {

using std::chrono::milliseconds;

constexpr int kFetchMs = 500;
/// A block that this worker cannot compute goes to others, and not at once to this one again.
constexpr int kRefusalMs = 200;
constexpr std::size_t kMostPlans = 4;  // of a pool
/// How long results are offered to a server that does not answer.
constexpr std::int64_t kSendNs = 5'000'000'000;

std::string own_name(const std::string& given) {
  if (!given.empty()) return given;
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}-{}", host.data(), ::getpid());
}

int lanes_for(const WorkConfig& config) {
  const auto processors = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return static_cast<int>(config.lanes > 0 ? config.lanes : std::clamp<std::int64_t>(processors, 1, 4));
}

}  // namespace

Worker::Worker(const WorkConfig& config, const Catalogue& catalogue, std::function<void(const std::string&)> ends)
    : config_(config),
      catalogue_(catalogue),
      ends_(std::move(ends)),
      name_(own_name(config.name)),
      lanes_(lanes_for(config)) {
  // Blocks come and go, so their memory is kept: to fetch it from the system each time costs as much as to copy them.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  for (const std::string& pool : config.pools) {
    pools_.push_back(std::make_unique<PoolWork>());
    pools_.back()->name = pool;
    pools_.back()->trouble = "has not met its home yet";
    pools_.back()->link = hosts::open_work_link(config.link, pool);
  }
  for (const auto& pool : pools_)
    for (std::int64_t c = 0; c < lanes() * (1 + config.ahead); ++c)
      threads_.emplace_back([this, &pool = *pool] { carry(pool); });
  threads_.emplace_back([this] { beat(); });
  threads_.emplace_back([this] { report(); });
}

Worker::~Worker() {
  stop();
  over_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void Worker::stop() noexcept {
  {
    const std::lock_guard lock(lane_mutex_);
    stopping_ = true;
  }
  lane_free_.notify_all();
}

WorkStatus Worker::status() const {
  WorkStatus status{name_, lanes(), busy(), {}};
  for (const auto& pool : pools_) {
    const std::lock_guard lock(pool->mutex);
    const std::string link = pool->link->trouble();
    status.pools.push_back({pool->name, pool->link->server(), link.empty() ? pool->trouble : link,
                            pool->counts.done.value(), pool->counts.refused.value(), pool->counts.returned.value(),
                            pool->counts.failed.value()});
  }
  return status;
}

std::string Worker::sentence() const {
  std::string text;
  for (const PoolWorkStatus& pool : status().pools)
    text += fmt::format("{}{}: {} blocks done, {} refused{}", text.empty() ? "" : "; ", pool.pool, pool.done,
                        pool.refused, pool.trouble.empty() ? "" : ", " + pool.trouble);
  return text;
}

void Worker::carry(PoolWork& pool) {
  ::pthread_setname_np(::pthread_self(), "iqd-carry");
  while (!stopping_) {
    if (!pool.admitted || !pool.link->is_connected()) {
      std::this_thread::sleep_for(milliseconds(20));
      continue;
    }
    const std::unique_ptr<hosts::HeldBlock> block = pool.link->fetch(kFetchMs);
    if (!block) continue;
    ++carrying_;
    std::list<Held>::iterator held;
    {
      const std::lock_guard lock(held_mutex_);
      held = held_.insert(held_.end(), {block.get(), &pool, steady_ns()});
    }
    serve(pool, *block, *held);
    {
      const std::lock_guard lock(held_mutex_);
      held_.erase(held);
    }
    --carrying_;
  }
}

void Worker::serve(PoolWork& pool, hosts::HeldBlock& block, Held& held) {
  std::shared_ptr<OrderedPlan> plan;
  try {
    plan = plan_of(pool, block.head().plan);
  } catch (const std::exception& e) {
    return refuse(pool, block, e.what());
  }
  const int lane = take_lane();
  if (lane < 0) {
    block.give_back();
    return pool.counts.returned.add();
  }
  {
    const std::lock_guard lock(held_mutex_);
    held.plan = plan, held.lane = lane;
  }
  const std::int64_t began = steady_ns();
  SampleBlock samples = block.head().block;
  samples.seq = 0;
  const bool fits = plan->compute(lane, {samples, block.samples()});
  const bool is_good = fits && plan->is_good(lane);
  std::string result;
  if (is_good) result = result_of(block, *plan, lane, steady_ns() - began);
  {
    const std::lock_guard lock(held_mutex_);
    held.plan.reset(), held.lane = -1;
  }
  give_lane(lane);
  if (!fits) return refuse(pool, block, "a block does not fit its order");
  if (!is_good) return ends_(plan->failure());
  if (send(pool, block, result))
    pool.counts.done.add();
  else
    pool.counts.failed.add();
}

bool Worker::send(PoolWork& pool, hosts::HeldBlock& block, const std::string& result) {
  for (const std::int64_t end = steady_ns() + kSendNs; steady_ns() < end;) {
    if (block.finish(result)) return true;
    std::this_thread::sleep_for(milliseconds(pool.link->is_connected() ? 20 : 100));
  }
  return false;
}

std::string Worker::result_of(const hosts::HeldBlock& block, const OrderedPlan& plan, int lane,
                              std::int64_t compute_ns) const {
  hosts::ResultHead head{block.head().run, block.head().number, name_, plan.device(), compute_ns, {}};
  std::vector<std::size_t> bytes;
  for (std::size_t i = 0; i < plan.results(); ++i) {
    const OrderedPlan::Result result = plan.result(lane, i);
    head.ports.push_back(result.port);
    bytes.push_back(static_cast<std::size_t>(result.rows * result.row_bytes));
  }
  std::string message = hosts::result_head(head, bytes);
  for (std::size_t i = 0; i < plan.results(); ++i) {
    const OrderedPlan::Result result = plan.result(lane, i);
    for (std::int64_t r = 0; r < result.rows && result.row_bytes > 0; ++r)
      message.append(reinterpret_cast<const char*>(result.data + r * result.pitch),
                     static_cast<std::size_t>(result.row_bytes));
  }
  return message;
}

std::shared_ptr<OrderedPlan> Worker::plan_of(PoolWork& pool, const std::string& hash) {
  const std::lock_guard lock(pool.plan_mutex);
  const auto known = std::ranges::find(pool.plans, hash, [](const auto& p) { return p.first; });
  if (known != pool.plans.end()) {
    pool.plans.splice(pool.plans.end(), pool.plans, known);
    return known->second;
  }
  // Servers that choose a new leader do not answer for some seconds.
  const std::int64_t end = steady_ns() + static_cast<std::int64_t>(pool.patience_s * 1e9);
  std::optional<std::string> text;
  while (!(text = pool.link->order(hash)) && !stopping_ && steady_ns() < end)
    std::this_thread::sleep_for(milliseconds(100));
  if (!text || text->empty()) throw SetupError(std::string(hosts::kNoOrder));
  auto plan = std::make_shared<OrderedPlan>(WorkOrder{*text, hash}, catalogue_, config_.backend, lanes(),
                                            pool.link->most_bytes());
  log::info("work {}: computes what '{}' orders, on {}", pool.name, plan->pipeline(), plan->device());
  pool.plans.emplace_back(hash, plan);
  if (pool.plans.size() > kMostPlans) pool.plans.pop_front();
  return plan;
}

/// -1: the worker stops.
int Worker::take_lane() {
  int lane = -1;
  std::unique_lock lock(lane_mutex_);
  lane_free_.wait(lock, [&] { return stopping_ || (lane = lanes_.try_acquire()) >= 0; });
  return lane;
}

void Worker::give_lane(int lane) {
  {
    const std::lock_guard lock(lane_mutex_);
    lanes_.release(lane);
  }
  lane_free_.notify_one();
}

void Worker::refuse(PoolWork& pool, hosts::HeldBlock& block, const std::string& why) {
  pool.counts.refused.add();
  {
    const std::lock_guard lock(pool.mutex);
    if (pool.refusal != why) log::warn("work {}: {}", pool.name, why);
    pool.refusal = why;
  }
  std::this_thread::sleep_for(milliseconds(kRefusalMs));
  block.give_back();
}

/// Blocks that wait for a lane are alive, and so are those that are computed, unless a stage takes too long.
void Worker::beat() {
  ::pthread_setname_np(::pthread_self(), "iqd-beat");
  while (!over_) {
    double shortest_s = 1;
    for (const auto& pool : pools_) shortest_s = std::min(shortest_s, pool->ack_wait_s.load());
    std::this_thread::sleep_for(std::chrono::duration<double>(std::max(0.02, shortest_s / 4)));
    bool hangs = false;
    {
      const std::lock_guard lock(held_mutex_);
      for (const Held& held : held_) {
        const double in_step_s = held.plan ? static_cast<double>(held.plan->in_step_ns(held.lane)) * 1e-9 : 0;
        // A short work needs no beat. After a long one, another worker gets the block in time.
        const double held_s = static_cast<double>(steady_ns() - held.since_ns) * 1e-9;
        if (held_s > held.pool->ack_wait_s / 3 && in_step_s < std::min(held.pool->patience_s / 2, config_.hang_s))
          held.block->beat();
        hangs = hangs || in_step_s > config_.hang_s;
      }
    }
    if (hangs) ends_("a stage does not return");
  }
}

void Worker::report() {
  ::pthread_setname_np(::pthread_self(), "iqd-here");
  while (!over_) {
    for (const auto& pool : pools_) meet_home(*pool);
    const auto is_idle = [](const auto& pool) { return !pool->admitted; };
    const int tenths = std::ranges::any_of(pools_, is_idle) ? 2 : 10;
    for (int i = 0; i < tenths && !over_; ++i) std::this_thread::sleep_for(milliseconds(100));
  }
}

void Worker::meet_home(PoolWork& pool) {
  if (const std::string why = pool.link->failure(); !why.empty()) ends_(why);
  if (stopping_ || !pool.link->is_connected()) return;
  const auto home = pool.link->home();
  const std::string build = build_mark();
  std::string trouble;
  if (!home)
    trouble = "its home is not there";
  else if (home->same && home->build != build)
    trouble = fmt::format("its home on {} is another build of iqd", home->host);
  pool.admitted = trouble.empty();
  if (home) pool.ack_wait_s = home->ack_wait_s, pool.patience_s = home->patience_s;
  std::string refusal;
  {
    const std::lock_guard lock(pool.mutex);
    if (trouble != pool.trouble) {
      if (trouble.empty())
        log::info("work {}: for {}", pool.name, home->host);
      else
        log::warn("work {}: {}", pool.name, trouble);
      pool.trouble = trouble;
    }
    refusal = std::exchange(pool.refusal, {});
  }
  if (!home) return;
  const std::string device = fmt::format("{}", config_.backend.front());
  pool.link->say({name_, build, device, trouble.empty() ? lanes() : 0, busy(), pool.counts.done.value(),
                  trouble.empty() ? refusal : trouble});
}

}  // namespace iqd
