// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/real_time.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <thread>

#include "base/log.hpp"
#include "pipeline/backend/prepare_thread.hpp"

namespace iqd {
namespace {

std::vector<int> own_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

/// More than the thread's present affinity: all CPUs that its group's cpuset allows, isolated ones included.
std::vector<int> allowed_cpus() {
  cpu_set_t before, all;
  std::memset(&all, 0xFF, sizeof all);
  if (::sched_getaffinity(0, sizeof before, &before) != 0 || ::sched_setaffinity(0, sizeof all, &all) != 0)
    return own_cpus();
  std::vector<int> cpus = own_cpus();
  ::sched_setaffinity(0, sizeof before, &before);
  return cpus;
}

std::vector<int> without(std::vector<int> from, const std::vector<int>& what) {
  std::erase_if(from, [&](int cpu) { return std::find(what.begin(), what.end(), cpu) != what.end(); });
  return from;
}

/// The requested CPUs that cannot be used: those that do not exist, and those that this process may not use.
std::vector<std::string> judge_cpus(std::vector<int> asked, const ThreadGrant& grant, int processors) {
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  const std::vector<int> missing = without(asked, grant.allowed);
  const auto first_absent = std::lower_bound(missing.begin(), missing.end(), processors);
  const std::vector<int> kept_away(missing.begin(), first_absent), absent(first_absent, missing.end());
  const std::string instead = fmt::format("radio and lanes run on {}{}", cpu_list(grant.cpus),
                                          missing.size() == asked.size() ? " instead" : "");
  std::vector<std::string> refused;
  if (!absent.empty())
    refused.push_back(fmt::format("realtime: cpus: this machine has no CPU {} (it has 0-{}); {}", cpu_list(absent),
                                  processors - 1, instead));
  if (!kept_away.empty())
    refused.push_back(
        fmt::format("realtime: cpus: this process may not use CPU {} (only {}; see AllowedCPUs= of its service, or its "
                    "container); {}",
                    cpu_list(kept_away), cpu_list(grant.allowed), instead));
  return refused;
}

}  // namespace

ThreadGrant try_thread(int priority, const std::vector<int>& cpus) {
  ThreadGrant grant;
  std::thread([&] {
    grant.allowed = allowed_cpus();
    prepare_thread({"iqd-probe", priority, cpus});
    sched_param parameter{};
    if (::sched_getscheduler(0) == SCHED_FIFO && ::sched_getparam(0, &parameter) == 0)
      grant.priority = parameter.sched_priority;
    grant.cpus = own_cpus();
  }).join();
  return grant;
}

bool can_lock(std::size_t bytes) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  const bool granted = ::mlock2(memory, bytes, MLOCK_ONFAULT) == 0;
  ::munmap(memory, bytes);
  return granted;
}

std::string cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t at = 0; at < cpus.size();) {
    std::size_t end = at + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ",", cpus[at]);
    if (end > at + 1) fmt::format_to(std::back_inserter(text), "-{}", cpus[end - 1]);
    at = end;
  }
  return text;
}

RealTimeReport judge_real_time(const RealTime& asked, const ThreadGrant& grant, bool is_locked, int processors) {
  RealTimeReport report;
  const std::string priority =
      grant.priority > 0 ? fmt::format("SCHED_FIFO {}", grant.priority) : std::string("no real-time priority");
  report.granted = fmt::format("radio, lanes and publisher: {}; radio and lanes on CPUs {}; memory {}", priority,
                               cpu_list(grant.cpus), is_locked ? "locked" : "not locked");
  if (asked.priority > 0 && grant.priority != asked.priority)
    report.refused.push_back(
        fmt::format("realtime: priority: {} was not granted; `iqd doctor` says how to get it", asked.priority));
  if (asked.lock_memory && !is_locked)
    report.refused.push_back("realtime: lock_memory: was not granted; `iqd doctor` says how to get it");
  const auto cpus = judge_cpus({asked.cpus.begin(), asked.cpus.end()}, grant, processors);
  report.refused.insert(report.refused.end(), cpus.begin(), cpus.end());
  return report;
}

RealTimeReport report_real_time(const RealTime& asked, bool is_locked) {
  const ThreadGrant grant = try_thread(static_cast<int>(asked.priority), {asked.cpus.begin(), asked.cpus.end()});
  return judge_real_time(asked, grant, is_locked, ::get_nprocs_conf());
}

void log_real_time(std::string_view pipeline, const RealTime& asked, bool is_locked) {
  const RealTimeReport report = report_real_time(asked, is_locked);
  log::info("{}: {}", pipeline, report.granted);
  for (const std::string& line : report.refused) log::warn("{}: {}", pipeline, line);
}

}  // namespace iqd
