// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/backend/prepare_thread.hpp"

#include <pthread.h>
#include <sched.h>

namespace iqd {

void prepare_thread(const QueueOptions& options) {
  ::pthread_setname_np(::pthread_self(), options.name.substr(0, 15).c_str());
  if (options.priority > 0) {
    const sched_param parameter{options.priority};
    ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &parameter);
  }
  if (options.cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : options.cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof(set), &set);
}

}  // namespace iqd
