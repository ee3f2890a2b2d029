// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// What the system gives to a thread that asks for a priority and processors.
struct ThreadGrant {
  int priority = 0;          // SCHED_FIFO; 0: refused, or not asked for
  std::vector<int> cpus;     // where it runs then
  std::vector<int> allowed;  // where threads of this process may run at all
};
/// Finds it out by a thread that asks, and ends. No `cpus`: any.
ThreadGrant try_thread(int priority, const std::vector<int>& cpus);

/// Whether this process may lock so much memory; none is used to find out.
bool can_lock(std::size_t bytes) noexcept;

/// `0-3,8`, as taskset(1) takes it.
std::string cpu_list(const std::vector<int>& cpus);

/// What `realtime:` asks for, against what there is.
struct RealTimeReport {
  std::string granted;               // one line, for which threads
  std::vector<std::string> refused;  // one line each, with what to do
};
/// `processors`: how many the machine has.
RealTimeReport judge_real_time(const RealTime& asked, const ThreadGrant& grant, bool is_locked, int processors);
/// The same for this process; `is_locked`: its memory was locked.
RealTimeReport report_real_time(const RealTime& asked, bool is_locked);
/// Logs that, for the pipeline of this name: once, when it starts. Its threads do not repeat it.
void log_real_time(std::string_view pipeline, const RealTime& asked, bool is_locked);

}  // namespace iqd
