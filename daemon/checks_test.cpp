// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>

#include "daemon/plugins.hpp"

namespace iqd {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// A made-up /proc and /sys.
class Tree {
 public:
  Tree() {
    std::string name = (std::filesystem::temp_directory_path() / "iqd-checks-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    root = name;
  }
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
  }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  Finding finding(std::string_view name) const {
    const Findings all = check_kernel(root);
    const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.name == name; });
    if (found == all.end()) throw std::runtime_error("no such finding");
    return *found;
  }
  std::filesystem::path root;
};

rlimit limit(rlim_t value) {
  return {value, RLIM_INFINITY};
}

TEST(Checks, FindNoFaultInWhatIsNotShown) {
  const Tree empty;
  for (const Finding& f : check_kernel(empty.root)) {
    EXPECT_EQ(f.verdict, Verdict::ok) << f.name << ": " << f.found;
    EXPECT_EQ(f.mend, "") << f.name;
  }
}

TEST(Checks, ReadAMachineThatIsSetUp) {
  const Tree t;
  for (int cpu = 0; cpu < 12; ++cpu)
    t.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor", "performance\n");
  t.write("sys/devices/system/cpu/cpufreq/policy0/x", "");
  t.write("sys/devices/system/cpu/isolated", "4-11\n");
  t.write("sys/devices/system/cpu/nohz_full", "4-11\n");
  t.write("proc/meminfo", "MemTotal:       65536000 kB\nMemFree: 1 kB\nMemAvailable:   60000000 kB\n");
  t.write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
  t.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  t.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  t.write("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
  t.write("proc/sys/kernel/sched_rt_period_us", "1000000\n");
  t.write("proc/sys/net/core/rmem_max", "50000000\n");
  t.write("proc/sys/net/core/wmem_max", "1048576\n");
  t.write("proc/cpuinfo", "flags\t\t: fpu vme tsc\n");
  for (const Finding& f : check_kernel(t.root)) EXPECT_EQ(f.verdict, Verdict::ok) << f.name << ": " << f.found;
  EXPECT_EQ(t.finding("processors").found, "12");
  EXPECT_EQ(t.finding("processor governor").found, "performance on 12");
  EXPECT_EQ(t.finding("isolated processors").found, "isolcpus 4-11, nohz_full 4-11");
  EXPECT_EQ(t.finding("virtual machine").found, "no");
  EXPECT_EQ(t.finding("memory").found, "61.44 of 67.11 GB free");
  EXPECT_EQ(t.finding("real-time share").found, "95 % of each processor");
}

TEST(Checks, ReadAMachineThatIsNot) {
  const Tree t;
  t.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  t.write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n");
  t.write("sys/fs/cgroup/memory.max", "100000000\n");
  t.write("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 2097148 1048576 -2\n");
  t.write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  t.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  t.write("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n");
  t.write("proc/sys/kernel/sched_rt_runtime_us", "0\n");
  t.write("proc/sys/kernel/sched_rt_period_us", "1000000\n");
  t.write("proc/sys/net/core/rmem_max", "212992\n");
  t.write("proc/sys/net/core/wmem_max", "212992\n");
  for (const std::string name : {"processors", "processor governor", "swap", "transparent huge pages", "clock source",
                                 "net.core.rmem_max", "net.core.wmem_max"}) {
    EXPECT_EQ(t.finding(name).verdict, Verdict::warn) << name;
    EXPECT_NE(t.finding(name).mend, "") << name;
  }
  EXPECT_EQ(t.finding("memory").verdict, Verdict::bad);
  EXPECT_EQ(t.finding("real-time share").verdict, Verdict::bad);
  EXPECT_EQ(t.finding("swap").found, "2.15 GB, 1.07 in use");
  EXPECT_THAT(t.finding("clock source").mend, StartsWith("echo tsc"));
  EXPECT_THAT(t.finding("net.core.rmem_max").mend, HasSubstr("sysctl -w net.core.rmem_max=50000000"));
}

TEST(Checks, NameTheVirtualMachineAndWhatItsHostTakes) {
  const Tree t;
  t.write("proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm\n");
  t.write("proc/stat", "cpu  700 0 100 150 0 0 0 50 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  t.write("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
  t.write("sys/class/dmi/id/product_name", "Virtual Machine\n");
  EXPECT_EQ(t.finding("virtual machine").found, "yes (Hyper-V), 5.00 % of the time stolen by the host");
  EXPECT_EQ(t.finding("virtual machine").verdict, Verdict::warn);
  t.write("proc/stat", "cpu  700 0 100 150 0 0 0 0 0 0\n");
  EXPECT_EQ(t.finding("virtual machine").verdict, Verdict::ok);
}

TEST(Checks, SurviveFilesThatMakeNoSense) {
  const Tree t;
  t.write("proc/meminfo", "MemTotal:\nMemTotal: many kB\n\n:\n");
  t.write("proc/swaps", "Filename\nrubbish\n/dev/x y z w\n");
  t.write("proc/stat", "cpu one two\n");
  t.write("proc/cpuinfo", "flags : hypervisor\n");
  t.write("sys/kernel/mm/transparent_hugepage/enabled", "]always[\n");
  t.write("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
  t.write("proc/sys/kernel/sched_rt_period_us", "0\n");
  t.write("proc/sys/net/core/rmem_max", "lots\n");
  for (const Finding& f : check_kernel(t.root)) EXPECT_NE(f.verdict, Verdict::bad) << f.name << ": " << f.found;
  EXPECT_EQ(t.finding("memory").found, "not visible");
  EXPECT_EQ(t.finding("swap").found, "none");
  EXPECT_EQ(t.finding("net.core.rmem_max").found, "not visible");
  EXPECT_EQ(t.finding("virtual machine").found, "yes, 0.00 % of the time stolen by the host");
}

TEST(Checks, MixedGovernorsAreCounted) {
  const Finding f = judge_governors({"performance", "schedutil", "performance"});
  EXPECT_EQ(f.found, "performance on 2, schedutil on 1");
  EXPECT_EQ(f.verdict, Verdict::warn);
}

TEST(Checks, JudgeTheLimitsOfAProcess) {
  EXPECT_EQ(judge_priority_limit(limit(95), true).verdict, Verdict::ok);
  EXPECT_EQ(judge_priority_limit(limit(0), true).verdict, Verdict::ok);  // root needs no limit
  EXPECT_EQ(judge_priority_limit(limit(10), true).verdict, Verdict::warn);
  EXPECT_EQ(judge_priority_limit(limit(0), false).verdict, Verdict::warn);
  EXPECT_THAT(judge_priority_limit(limit(0), false).mend, HasSubstr("$USER - rtprio 80"));
  EXPECT_EQ(judge_lock_limit(limit(RLIM_INFINITY)).verdict, Verdict::ok);
  EXPECT_THAT(judge_lock_limit(limit(RLIM_INFINITY)).found, HasSubstr("unlimited"));
  EXPECT_EQ(judge_lock_limit(limit(8 << 20)).verdict, Verdict::warn);
  EXPECT_EQ(judge_files_limit(limit(1024)).verdict, Verdict::ok);
  EXPECT_EQ(judge_files_limit(limit(256)).verdict, Verdict::bad);
}

TEST(Checks, AskThisProcess) {
  const Findings found = check_process();
  ASSERT_EQ(found.size(), 4u);
  for (const Finding& f : found) EXPECT_EQ(f.verdict == Verdict::ok, f.mend.empty()) << f.name;
}

TEST(Checks, PluginPathWithFoldersThatAreNotThere) {
  const Tree t;
  EXPECT_EQ(judge_plugin_path("").verdict, Verdict::ok);
  EXPECT_EQ(judge_plugin_path(t.root.string() + "::").verdict, Verdict::ok);
  const Finding f = judge_plugin_path(t.root.string() + ":/no/such/folder");
  EXPECT_EQ(f.verdict, Verdict::warn);
  EXPECT_THAT(f.found, HasSubstr("/no/such/folder is no folder"));
}

TEST(Checks, AMissingBackendIsAFaultWhereItsDriverIs) {
  const Tree t;
  const std::vector<FoundBackend> backends{{"cpu", "a processor", {}, {}}, {"cuda", {}, {}, "no library"}};
  auto found = check_backends(backends, t.root);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].found, "a processor");
  EXPECT_EQ(found[1].verdict, Verdict::ok);
  EXPECT_EQ(found[1].found, "no library (NVIDIA driver: none)");
  t.write("proc/driver/nvidia/version", "NVRM version: x\n");
  found = check_backends(backends, t.root);
  EXPECT_EQ(found[1].verdict, Verdict::warn);
}

TEST(Plugins, AreFoundBesideTheProgramOrBelowIt) {
  const Tree t;
  EXPECT_EQ(with_own_plugins(t.root / "bin/iqd", "/a:/b"), "/a:/b");
  t.write("lib/iqd/soapy/x.so", "");
  const std::string installed = (t.root / "lib/iqd/soapy").string();
  EXPECT_EQ(with_own_plugins(t.root / "bin/iqd", ""), installed);
  EXPECT_EQ(with_own_plugins(t.root / "bin/iqd", "/a"), "/a:" + installed);
  EXPECT_EQ(with_own_plugins(t.root / "bin/iqd", installed + ":/a"), installed + ":/a");
  t.write("bin/soapy/x.so", "");
  EXPECT_EQ(with_own_plugins(t.root / "bin/iqd", ""), (t.root / "bin/soapy").string());
}

TEST(Plugins, WhatOthersPrintDoesNotReachStandardOutput) {
  testing::internal::CaptureStdout();
  std::printf("before\n");
  {
    const StdoutGuard guard;
    std::printf("a banner\n");
  }
  std::printf("after\n");
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "before\nafter\n");
}

}  // namespace
}  // namespace iqd
