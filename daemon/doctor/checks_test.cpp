// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "daemon/command/plugins.hpp"
#include "hosts/pool_report.hpp"
#include "pipeline/spec/work_order.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A made-up /proc and /sys.
class FakeSystem : public ScratchFolder {
 public:
  Finding finding(std::string_view name) const {
    Findings all = check_kernel(path());
    std::ranges::move(check_buffers(path(), {}), std::back_inserter(all));
    const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.name == name; });
    if (found == all.end()) throw std::runtime_error("no such finding");
    return *found;
  }
};

rlimit limit(rlim_t value) {
  return {value, RLIM_INFINITY};
}

TEST(Checks, FindNoFaultInWhatIsNotShown) {
  const FakeSystem empty;
  Findings all = check_kernel(empty.path());
  std::ranges::move(check_buffers(empty.path(), {}), std::back_inserter(all));
  for (const Finding& f : all) {
    EXPECT_EQ(f.verdict, Verdict::ok) << f.name << ": " << f.found;
    EXPECT_EQ(f.mend, "") << f.name;
  }
}

TEST(Checks, ReadAMachineThatIsSetUp) {
  const FakeSystem t;
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
  for (const Finding& f : check_kernel(t.path())) EXPECT_EQ(f.verdict, Verdict::ok) << f.name << ": " << f.found;
  EXPECT_EQ(t.finding("CPUs").found, "12");
  EXPECT_EQ(t.finding("CPU governor").found, "performance on 12");
  EXPECT_EQ(t.finding("isolated CPUs").found,
            "isolcpus 4-11, nohz_full 4-11; only `realtime: cpus` places threads there");
  EXPECT_EQ(t.finding("virtual machine").found, "no");
  EXPECT_EQ(t.finding("memory").found, "61.44 of 67.11 GB free");
  EXPECT_EQ(t.finding("real-time share").found, "95 % of each CPU");
}

TEST(Checks, ReadAMachineThatIsNot) {
  const FakeSystem t;
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
  for (const std::string name : {"CPUs", "CPU governor", "swap", "transparent huge pages", "clock source",
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
  const FakeSystem t;
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
  const FakeSystem t;
  t.write("proc/meminfo", "MemTotal:\nMemTotal: many kB\n\n:\n");
  t.write("proc/swaps", "Filename\nrubbish\n/dev/x y z w\n");
  t.write("proc/stat", "cpu one two\n");
  t.write("proc/cpuinfo", "flags : hypervisor\n");
  t.write("sys/kernel/mm/transparent_hugepage/enabled", "]always[\n");
  t.write("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
  t.write("proc/sys/kernel/sched_rt_period_us", "0\n");
  t.write("proc/sys/net/core/rmem_max", "lots\n");
  for (const Finding& f : check_kernel(t.path())) EXPECT_NE(f.verdict, Verdict::bad) << f.name << ": " << f.found;
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
  EXPECT_EQ(judge_priority(95, limit(95)).verdict, Verdict::ok);
  EXPECT_EQ(judge_priority(99, limit(0)).found, "SCHED_FIFO granted up to 99");  // root needs no limit
  EXPECT_EQ(judge_priority(10, limit(10)).verdict, Verdict::warn);
  EXPECT_EQ(judge_priority(0, limit(80)).verdict, Verdict::warn);  // a control group refuses it
  EXPECT_THAT(judge_priority(0, limit(0)).mend, HasSubstr("$USER - rtprio 80"));
  EXPECT_EQ(judge_lock(limit(RLIM_INFINITY), true).verdict, Verdict::ok);
  EXPECT_EQ(judge_lock(limit(RLIM_INFINITY), true).found, "limit unlimited bytes");
  EXPECT_EQ(judge_lock(limit(8 << 20), true).found, "limit 8388608 bytes, but this user may exceed it");
  EXPECT_EQ(judge_lock(limit(8 << 20), false).verdict, Verdict::warn);
  EXPECT_EQ(judge_lock(limit(8 << 20), false).found, "limit 8388608 bytes");
  EXPECT_THAT(judge_lock(limit(8 << 20), false, true).found, HasSubstr("for a GPU"));
  EXPECT_THAT(judge_lock(limit(8 << 20), false, true).mend, HasSubstr("memlock unlimited"));
  EXPECT_EQ(judge_allowed({0, 1}, 2).found, "all");
  EXPECT_THAT(judge_allowed({0, 1, 5}, 8).found, StartsWith("0-1,5 of 8: "));
  EXPECT_EQ(judge_files_limit(limit(1024)).verdict, Verdict::ok);
  EXPECT_EQ(judge_files_limit(limit(256)).verdict, Verdict::bad);
}

TEST(Checks, AskThisProcess) {
  const Findings found = check_process();
  ASSERT_EQ(found.size(), 5u);
  for (const Finding& f : found) EXPECT_EQ(f.verdict == Verdict::ok, f.mend.empty()) << f.name;
}

TEST(Checks, PluginPathWithFoldersThatAreNotThere) {
  const FakeSystem t;
  EXPECT_EQ(judge_plugin_path("").verdict, Verdict::ok);
  EXPECT_EQ(judge_plugin_path(t.path().string() + "::").verdict, Verdict::ok);
  const Finding f = judge_plugin_path(t.path().string() + ":/no/such/folder");
  EXPECT_EQ(f.verdict, Verdict::warn);
  EXPECT_THAT(f.found, HasSubstr("/no/such/folder is not a directory"));
}

TEST(Checks, AMissingBackendIsAFaultWhereItsDriverIs) {
  const FakeSystem t;
  const std::vector<FoundBackend> backends{{"cpu", "a CPU", {}, {}}, {"cuda", {}, {}, "no library"}};
  auto found = check_backends(backends, t.path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].found, "a CPU");
  EXPECT_EQ(found[1].verdict, Verdict::ok);
  EXPECT_EQ(found[1].found, "no library (NVIDIA driver: none)");
  t.write("proc/driver/nvidia/version", "NVRM version: x\n");
  found = check_backends(backends, t.path());
  EXPECT_EQ(found[1].verdict, Verdict::warn);
}

TEST(Checks, AMissingBackendIsAFaultWhereAGpuWantsADriver) {
  const FakeSystem t;
  t.write("sys/bus/pci/devices/0000:00:1f.3/vendor", "0x8086\n");
  t.write("sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n");
  t.write("sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");  // the sound of a graphics card
  const std::vector<FoundBackend> backends{{"cuda", {}, {}, "no NVIDIA driver is loaded"}};
  EXPECT_EQ(check_backends(backends, t.path()).front().verdict, Verdict::ok);
  t.write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  t.write("sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n");
  const Finding f = check_backends(backends, t.path()).front();
  EXPECT_EQ(f.verdict, Verdict::warn);
  EXPECT_EQ(f.found, "no NVIDIA driver is loaded (NVIDIA driver: none)");
  EXPECT_THAT(f.mend, HasSubstr("modprobe nvidia"));
}

TEST(Checks, WhatIsMissingSaysWhatMendsIt) {
  const std::pair<const char*, const char*> pairs[] = {
      {"libiqd_cuda.so is not installed", "nvcc"},
      {"libiqd_cuda.so cannot be loaded (libcufft.so.12: cannot open shared object file)", "ldconfig"},
      {"libiqd_cuda.so belongs to another version of iqd", "the same build"},
      {"the NVIDIA driver is too old: it supports CUDA 12.4, but 13.0 is needed", "R580"},
      {"the NVIDIA driver sees no device", "CUDA_VISIBLE_DEVICES"},
      {"cuda:0 (NVIDIA H200) cannot be used, another process has exclusive use: busy", "-c DEFAULT"},
      {"cuda:0 is in compute mode `prohibited`: no process may use it", "-c DEFAULT"}};
  for (const auto& [why, mend] : pairs) {
    const Finding f = judge_missing_backend({"cuda", {}, {}, why}, true, true);
    EXPECT_EQ(f.verdict, Verdict::warn) << why;
    EXPECT_THAT(f.found, StartsWith(why));
    EXPECT_THAT(f.mend, HasSubstr(mend)) << why;
  }
}

TEST(Checks, ALinkBelowWhatItCouldBe) {
  EXPECT_EQ(judge_link("0000:17:00.0", {"16", "16", "32.0 GT/s PCIe", "32.0 GT/s PCIe"}).verdict, Verdict::ok);
  const Finding narrow = judge_link("0000:17:00.0", {"8", "16", "32.0 GT/s PCIe", "32.0 GT/s PCIe"});
  EXPECT_EQ(narrow.found, "x8 at 32.0 GT/s PCIe, x16 is possible");
  EXPECT_EQ(narrow.verdict, Verdict::warn);
  const Finding slow = judge_link("0000:17:00.0", {"16", "16", "2.5 GT/s PCIe", "16.0 GT/s PCIe"});
  EXPECT_EQ(slow.verdict, Verdict::warn);
  EXPECT_THAT(slow.mend, HasSubstr("look again while iqd runs"));
  EXPECT_THAT(judge_link("0000:17:00.0", {"8", "16", "2.5 GT/s PCIe", "16.0 GT/s PCIe"}).mend, HasSubstr("seat"));
  for (const PcieLink& odd : {PcieLink{}, PcieLink{"0", "255", "Unknown", "Unknown"}, PcieLink{"63", "63", "", ""}})
    EXPECT_EQ(judge_link("0000:17:00.0", odd).found, "not visible");
  EXPECT_EQ(judge_link("0000:17:00.0", {"16", "255", "8.0 GT/s PCIe", "Unknown"}).verdict, Verdict::ok);
}

TEST(Checks, DevicesThatTheEnvironmentHides) {
  EXPECT_EQ(judge_visible_devices(nullptr).found, "not set");
  EXPECT_EQ(judge_visible_devices("1,0").verdict, Verdict::ok);
  EXPECT_THAT(judge_visible_devices("1,0").found, StartsWith("1,0: cuda:0 is the first"));
  for (const char* none : {"", "-1"}) {
    EXPECT_EQ(judge_visible_devices(none).verdict, Verdict::warn);
    EXPECT_EQ(judge_visible_devices(none).mend, "unset CUDA_VISIBLE_DEVICES");
  }
}

TEST(Checks, TuningIsAHint) {
  const FoundBackend device{"cuda:1", "NVIDIA H200", {}, {}};
  EXPECT_EQ(judge_tuning(device, {}).verdict, Verdict::ok);
  EXPECT_EQ(judge_tuning(device, {}).mend, "iqd tune --device 1");
  EXPECT_THAT(judge_tuning(device, 262'144).found, StartsWith("blocks up to 256 KiB in place ("));
  EXPECT_EQ(judge_tuning(device, 262'144).mend, "");
}

TEST(Checks, WhetherStagesWereMeasured) {
  const FoundBackend device{"cuda:1", "NVIDIA H200", {}, {}};
  EXPECT_THAT(judge_stage_times(device, {}).found, StartsWith("none: "));
  EXPECT_THAT(judge_stage_times(device, {}).mend, StartsWith("iqd tune FILE --device 1"));
  EXPECT_THAT(judge_stage_times(device, {{}, true}).found, StartsWith("measured with another driver or build"));
  EXPECT_EQ(judge_stage_times(device, {{}, true}).verdict, Verdict::ok);
  const Finding measured = judge_stage_times(device, {{{"fir-64-1", 2}, {"fft-64-2", 3}}, false});
  EXPECT_THAT(measured.found, StartsWith("2 measured ("));
  EXPECT_EQ(measured.mend, "");
}

TEST(Checks, ReadWhatTheNvidiaDriverShows) {
  const FakeSystem t;
  t.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Thu Jul 1\n");
  t.write("proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: NVIDIA H200\n");
  for (const auto& [file, text] :
       {std::pair{"current_link_width", "8"}, std::pair{"max_link_width", "16"},
        std::pair{"current_link_speed", "32.0 GT/s PCIe"}, std::pair{"max_link_speed", "32.0 GT/s PCIe"}})
    t.write(std::string("sys/bus/pci/devices/0000:17:00.0/") + file, std::string(text) + "\n");
  const auto finding = [&](std::string_view name) {
    const Findings all = check_backends({{"cuda:0", "NVIDIA H200", {}, {}}}, t.path());
    const auto at = std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.name == name; });
    return at == all.end() ? Finding{"none", "", Verdict::bad, ""} : *at;
  };
  EXPECT_EQ(finding("backend cuda:0").found, "NVIDIA H200");
  EXPECT_EQ(finding("NVIDIA driver").found, "580.159.03");
  EXPECT_EQ(finding("PCIe 0000:17:00.0").found, "x8 at 32.0 GT/s PCIe, x16 is possible");
  EXPECT_EQ(finding("GPU persistence").found, "not visible");  // a container, by its first process
  t.write("proc/1/comm", "systemd\n");
  EXPECT_EQ(finding("GPU persistence").verdict, Verdict::warn);
  t.write("proc/812/comm", "nvidia-persiste\n");
  EXPECT_EQ(finding("GPU persistence").verdict, Verdict::ok);
}

TEST(Checks, ADeviceIsThereWhereItsBackendIs) {
  EXPECT_FALSE(has_device({{"cpu", "a CPU", {}, {}}, {"cuda", {}, {}, "no library"}}));
  EXPECT_TRUE(has_device({{"cpu", "a CPU", {}, {}}, {"cuda:0", "NVIDIA H200", {}, {}}}));
}

TEST(Plugins, AreFoundBesideTheProgramOrWhereTheyAreInstalled) {
  const FakeSystem t;
  EXPECT_EQ(own_plugins(t.path() / "bin/iqd", {}), "");
  const std::string installed = (t.path() / "bin" / IQD_INSTALLED_MODULES).lexically_normal().string();
  std::filesystem::create_directories(installed);
  EXPECT_EQ(own_plugins(t.path() / "bin/iqd", {}), installed);
  EXPECT_EQ(own_plugins(t.path() / "bin/iqd", {"/a"}), installed);
  EXPECT_EQ(own_plugins(t.path() / "bin/iqd", {"/a", installed}), "");
  t.write("bin/soapy/x.so", "");
  EXPECT_EQ(own_plugins(t.path() / "bin/iqd", {}), (t.path() / "bin/soapy").string());
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

TEST(JudgePool, NamesWhatIsMissing) {
  hosts::PoolReport report;
  report.server = "nats://n1:4222";
  report.most_bytes = 1 << 20;
  Findings all = judge_pool("band", report);
  ASSERT_EQ(all.size(), 3u);
  for (const Finding& f : all) {
    EXPECT_EQ(f.verdict, Verdict::warn) << f.name;
    EXPECT_NE(f.mend, "") << f.name;
  }
  report.most_bytes = 16 << 20;
  report.home = hosts::HomeFacts{"run", "n1", build_mark(), true, 0.6, 2};
  report.workers = {{"w1", build_mark(), "cpu", 4, 1, 12, ""},
                    {"w2", "another", "cpu", 4, 0, 0, ""},
                    {"w3", build_mark(), "cpu", 4, 0, 0, "no memory"}};
  all = judge_pool("band", report);
  ASSERT_EQ(all.size(), 5u);
  for (const std::size_t good : {0, 1, 2}) EXPECT_EQ(all[good].verdict, Verdict::ok) << all[good].found;
  EXPECT_EQ(all[3].verdict, Verdict::warn) << "another build";
  EXPECT_EQ(all[4].verdict, Verdict::warn);
  EXPECT_NE(all[4].found.find("no memory"), std::string::npos);
  report.home->same = false;
  EXPECT_EQ(judge_pool("band", report)[3].verdict, Verdict::ok);
}

}  // namespace
}  // namespace iqd
