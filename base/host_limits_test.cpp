// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/host_limits.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <memory>

namespace iqd {
namespace {

namespace fs = std::filesystem;

/// The files of a machine with 8 GB, 7 of them free.
class Machine {
 public:
  Machine() : root_(fs::temp_directory_path() / ("iqd-limits-" + std::to_string(::getpid()))) {
    write("proc/meminfo", "MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable: 7000000 kB\n");
  }
  ~Machine() { fs::remove_all(root_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  HostLimits limits() const { return host_limits(root_); }
  std::string path(const std::string& of) const { return (root_ / of).string(); }

 private:
  fs::path root_;
};

TEST(HostLimits, AreTheMachines) {
  const Machine m;
  EXPECT_EQ(m.limits().all_memory, 8'192'000'000u);
  EXPECT_EQ(m.limits().memory, 7'168'000'000u);
  EXPECT_EQ(m.limits().group, "");
  EXPECT_EQ(m.limits().threads, HostLimits::kNone);
}

TEST(HostLimits, AreThoseOfEveryGroupAround) {
  const Machine m;
  m.write("proc/self/cgroup", "0::/system.slice/iqd.service\n");
  m.write("sys/fs/cgroup/system.slice/iqd.service/memory.max", "max\n");
  m.write("sys/fs/cgroup/system.slice/memory.max", "1000000000\n");
  m.write("sys/fs/cgroup/system.slice/memory.current", "600000000\n");
  m.write("sys/fs/cgroup/system.slice/memory.stat", "anon 1\ninactive_file 100000000\n");
  m.write("sys/fs/cgroup/system.slice/pids.max", "100\n");
  m.write("sys/fs/cgroup/system.slice/pids.current", "40\n");
  EXPECT_EQ(m.limits().all_memory, 1'000'000'000u);
  EXPECT_EQ(m.limits().memory, 500'000'000u) << "the file cache can be reclaimed";
  EXPECT_EQ(m.limits().group, m.path("sys/fs/cgroup/system.slice/memory.max"));
  EXPECT_EQ(m.limits().threads, 60u);
  m.write("sys/fs/cgroup/system.slice/iqd.service/memory.max", "300000000\n");
  EXPECT_EQ(m.limits().memory, 300'000'000u);
  m.write("sys/fs/cgroup/system.slice/iqd.service/memory.current", "400000000\n");
  EXPECT_EQ(m.limits().memory, 0u);
}

TEST(HostLimits, AreThoseOfAContainerWhoseGroupHasAnotherNameOutside) {
  const Machine m;
  m.write("proc/self/cgroup", "0::/docker/1234\n");
  m.write("sys/fs/cgroup/memory.max", "200000000\n");
  EXPECT_EQ(m.limits().memory, 200'000'000u);
}

TEST(HostLimits, AreThoseOfTheFirstVersionOfGroups) {
  const Machine m;
  m.write("proc/self/cgroup", "5:pids:/a\n4:cpu,memory:/a/b\n1:name=systemd:/\n0::/\n");
  m.write("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  m.write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000000000\n");
  m.write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "900000000\n");
  m.write("sys/fs/cgroup/memory/a/memory.stat", "total_inactive_file 0\n");
  m.write("sys/fs/cgroup/pids/a/pids.max", "50\n");
  EXPECT_EQ(m.limits().memory, 100'000'000u);
  EXPECT_EQ(m.limits().threads, 50u);
}

/// Sets a limit of this process for the duration of a test.
class Limit {
 public:
  Limit(__rlimit_resource resource, rlim_t to) : resource_(resource) {
    ::getrlimit(resource_, &before_);
    const rlimit limit{to, before_.rlim_max};
    ::setrlimit(resource_, &limit);
  }
  ~Limit() { ::setrlimit(resource_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

TEST(HostLimits, KnowWhatTheProcessMayHave) {
  const Machine m;
  m.write("proc/self/status", "VmSize:\t  100000 kB\nCapEff:\t0000000000000000\n");
  for (const char* name : {"0", "1", "2", "9"}) m.write(std::string("proc/self/fd/") + name, "");
  const Limit files(RLIMIT_NOFILE, 64);
  EXPECT_EQ(m.limits().files, 60u);
  const Limit locked(RLIMIT_MEMLOCK, 4'096);
  EXPECT_EQ(m.limits().locked, std::nullopt) << "even the current mappings do not fit";
  m.write("proc/self/status", "VmSize:\t  3 kB\nCapEff:\t0000000000000000\n");
  EXPECT_EQ(m.limits().locked, 1'024u);
  m.write("proc/self/status", "VmSize:\t  3 kB\nCapEff:\t0000000000004000\n");
  EXPECT_EQ(m.limits().locked, HostLimits::kNone) << "CAP_IPC_LOCK allows locking anything";
}

TEST(HostLimits, AreThereOnThisMachine) {
  const HostLimits here = host_limits();
  EXPECT_GT(here.memory, 1'000'000u);
  EXPECT_LE(here.memory, here.all_memory);
  EXPECT_GT(here.files, 10u);
}

}  // namespace
}  // namespace iqd
