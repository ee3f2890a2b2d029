// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// While samples flow, nothing is allocated, no lock is taken and no line is logged. Every call of the allocator and of
// the mutex, in any thread of this program, is counted.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "base/log.hpp"
#include "tests/support/engine_rig.hpp"
#include "tests/support/own_allocator.hpp"

namespace {
std::atomic<bool> counting{false};
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> locks{0};
[[maybe_unused]] void count(std::atomic<std::uint64_t>& calls) noexcept {
  if (counting.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

#if IQD_COUNTS
// glibc's own functions; the program's calls are interposed.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t n) {
  count(allocations);
  return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) {
  count(allocations);
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t n) {
  count(allocations);
  return __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t alignment, std::size_t n) {
  count(allocations);
  return __libc_memalign(alignment, n);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static std::atomic<int (*)(pthread_mutex_t*)> real{nullptr};
  auto* call = real.load(std::memory_order_relaxed);
  if (!call) real = call = reinterpret_cast<int (*)(pthread_mutex_t*)>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  count(locks);
  return call(mutex);
}
}
#endif

namespace iqd::testing {
namespace {

/// Reads each message and releases it.
class NullOutlet final : public Outlet {
 public:
  explicit NullOutlet(std::atomic<std::uint64_t>& bytes) : bytes_(bytes) {}
  bool send(const Message& m, Lease, bool) override {
    bytes_ += m.payload.size();
    return true;
  }

 private:
  std::atomic<std::uint64_t>& bytes_;
};

struct Seen {
  std::uint64_t blocks, allocations, locks, lines;
};

/// Counts calls while a stream that is already running publishes this many more blocks.
Seen watch(Rig& rig, std::uint64_t blocks) {
  rig.start();
  EXPECT_TRUE(Rig::eventually([&] { return rig.counters.blocks.value() > 1000; }));
  allocations = locks = 0;
  const std::uint64_t lines = log::lines();
  const std::uint64_t before = rig.counters.blocks.value();
  counting = true;
  const bool there = Rig::eventually([&] { return rig.counters.blocks.value() > before + blocks; }, 60'000);
  counting = false;
  EXPECT_TRUE(there);
  const Seen seen{rig.counters.blocks.value() - before, allocations, locks, log::lines() - lines};
  rig.intake->stop();
  rig.engine->join();
  return seen;
}

class SteadyState : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!IQD_COUNTS) GTEST_SKIP() << "a sanitizer has its own allocator and locks";
  }
  static Rig::Options options(bool waits) {
    Rig::Options o;
    o.info.can_wait = waits;
    o.intake.overrun = waits ? Overrun::wait : Overrun::drop;
    o.stages = {{"window", "{past: 15}"}, {"window", "{granule: 4, past: 7, future: 3}", "slow"}};
    o.publish = {"slow"};
    return o;
  }
  std::atomic<std::uint64_t> bytes_{0};
};

TEST_F(SteadyState, TheCountersCount) {
  std::mutex mutex;
  allocations = locks = 0;
  counting = true;
  void* volatile memory = std::malloc(10);
  void* volatile more = ::operator new(10);
  mutex.lock();
  counting = false;
  mutex.unlock();
  std::free(memory);
  ::operator delete(more);
  EXPECT_EQ(allocations, 2u);
  EXPECT_EQ(locks, 1u);
}

TEST_F(SteadyState, NothingIsAllocatedLockedOrLogged) {
  for (const bool waits : {true, false}) {
    Rig rig(options(waits), {{{{.samples = 1ll << 40, .chunk = 64}}}});
    rig.engine->routes()[0]->outlet = std::make_unique<NullOutlet>(bytes_);
    const Seen seen = watch(rig, 10'000);
    EXPECT_GE(seen.blocks, 10'000u);
    EXPECT_EQ(seen.allocations, 0u) << (waits ? "waiting" : "dropping");
    EXPECT_EQ(seen.locks, 0u);
    EXPECT_EQ(seen.lines, 0u);
    EXPECT_GT(bytes_, 10'000u * 16 * sizeof(Word));
    rig.expect_conserved();
  }
}

/// Nor with gaps, and drops because the lane does not keep up.
TEST_F(SteadyState, NorWhileSamplesAreLost) {
  Rig::Options o = options(false);
  o.lanes = 1;
  o.stages.push_back({"gate"});
  o.publish = {"gate"};
  GateStage::door().jitter_us = 150;
  Script script;
  for (int i = 0; i < 100'000; ++i) script.steps.push_back({.samples = 1 + i % 150, .lost = i % 4, .wait_ns = 20'000});
  Rig rig(o, {std::move(script)});
  rig.engine->routes()[0]->outlet = std::make_unique<NullOutlet>(bytes_);
  const Seen seen = watch(rig, 2000);
  EXPECT_EQ(seen.allocations, 0u);
  EXPECT_EQ(seen.locks, 0u);
  EXPECT_EQ(seen.lines, 0u);
  EXPECT_GT(rig.drops(Drop::lanes), 0u);
  EXPECT_GT(rig.counters.lost.value(), 0u);
  rig.expect_conserved();
}

}  // namespace
}  // namespace iqd::testing
