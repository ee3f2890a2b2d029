// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/real_time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>

namespace iqd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RealTime asked(std::int64_t priority, std::vector<std::int64_t> cpus, bool lock = false) {
  RealTime r;
  r.priority = priority;
  r.cpus = std::move(cpus);
  r.lock_memory = lock;
  return r;
}

TEST(RealTime, ListsOfProcessorsAreShort) {
  EXPECT_EQ(cpu_list({}), "");
  EXPECT_EQ(cpu_list({3}), "3");
  EXPECT_EQ(cpu_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
}

TEST(RealTime, WhatIsGrantedIsOneLine) {
  const RealTimeReport r = judge_real_time(asked(50, {2, 3}, true), {50, {2, 3}, {0, 1, 2, 3}}, true, 4);
  EXPECT_EQ(r.granted, "radio, lanes and publisher: SCHED_FIFO 50; radio and lanes on CPUs 2-3; memory locked");
  EXPECT_THAT(r.refused, IsEmpty());
}

TEST(RealTime, NothingAskedNothingRefused) {
  const RealTimeReport r = judge_real_time({}, {0, {0, 1}, {0, 1}}, false, 2);
  EXPECT_EQ(r.granted,
            "radio, lanes and publisher: no real-time priority; radio and lanes on CPUs 0-1; memory not locked");
  EXPECT_THAT(r.refused, IsEmpty());
}

TEST(RealTime, EachThingThatIsRefusedIsNamed) {
  const RealTimeReport r = judge_real_time(asked(50, {}, true), {0, {0, 1}, {0, 1}}, false, 2);
  EXPECT_THAT(r.refused, ElementsAre(HasSubstr("priority: 50"), HasSubstr("lock_memory")));
}

TEST(RealTime, ProcessorsThatAreNotThereOrNotAllowedAreNamed) {
  RealTimeReport r = judge_real_time(asked(0, {1, 99}), {0, {1}, {0, 1}}, false, 2);
  EXPECT_THAT(r.refused, ElementsAre("realtime: cpus: this machine has no CPU 99 (it has 0-1); radio and lanes run "
                                     "on 1"));
  r = judge_real_time(asked(0, {99, 2, 2}), {0, {0, 1}, {0, 1}}, false, 4);
  EXPECT_THAT(r.refused, ElementsAre(HasSubstr("no CPU 99"), HasSubstr("this process may not use CPU 2 (only")));
  EXPECT_THAT(r.refused[1], HasSubstr("run on 0-1 instead"));
}

TEST(RealTime, AThreadFindsOutWhatThereIs) {
  const ThreadGrant plain = try_thread(0, {});
  EXPECT_EQ(plain.priority, 0);
  ASSERT_FALSE(plain.allowed.empty());
  EXPECT_TRUE(std::includes(plain.allowed.begin(), plain.allowed.end(), plain.cpus.begin(), plain.cpus.end()));
  const int last = plain.allowed.back();
  EXPECT_THAT(try_thread(0, {last}).cpus, ElementsAre(last));
  EXPECT_EQ(try_thread(0, {1023}).cpus, plain.cpus);  // refused whole: it stays where it was
  EXPECT_THAT(try_thread(0, {last, 1023}).cpus, ElementsAre(last));
  EXPECT_THAT(report_real_time(asked(0, {1023}), false).refused, ElementsAre(HasSubstr("no CPU 1023")));
}

TEST(RealTime, LockingIsTriedWithoutMemory) {
  EXPECT_TRUE(can_lock(4096));
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) {
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    can_lock(std::size_t{1} << 30);
    ::getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100 << 10);  // KiB
  }
}

}  // namespace
}  // namespace iqd
