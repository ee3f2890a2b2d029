// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// What the system grants a thread that requests a priority and CPUs.
struct ThreadGrant {
  int priority = 0;          // SCHED_FIFO; 0: refused, or not requested
  std::vector<int> cpus;     // where the thread then runs
  std::vector<int> allowed;  // where threads of this process may run at all
};
/// Finds out with a thread that makes the request and ends. Empty `cpus`: any.
ThreadGrant try_thread(int priority, const std::vector<int>& cpus);

/// Whether this process may lock this much memory; uses none to find out.
bool can_lock(std::size_t bytes) noexcept;

/// `0-3,8`, as taskset(1) takes it.
std::string cpu_list(const std::vector<int>& cpus);

/// What `realtime:` requests, and what the system grants.
struct RealTimeReport {
  std::string granted;               // one line: what, and for which threads
  std::vector<std::string> refused;  // one line each, with what to do
};
/// The last argument is the machine's number of CPUs.
RealTimeReport judge_real_time(const RealTime& asked, const ThreadGrant& grant, bool is_locked, int processors);
/// The same for this process; `is_locked`: its memory was locked.
RealTimeReport report_real_time(const RealTime& asked, bool is_locked);
/// Logs the report for the pipeline of this name, once, when it starts. Its threads do not repeat it.
void log_real_time(std::string_view pipeline, const RealTime& asked, bool is_locked);

}  // namespace iqd
