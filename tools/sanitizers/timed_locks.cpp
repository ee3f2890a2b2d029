// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// `std::timed_mutex` calls pthread_mutex_clocklock, which the thread sanitizer of GCC 12 does not see: it takes what
// such a lock guards for unguarded. A program under that sanitizer gets this one instead, made of calls that it sees.
#include <pthread.h>

#include <cerrno>
#include <ctime>

extern "C" int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  constexpr timespec kStep{0, 100'000};
  for (;;) {
    const int outcome = pthread_mutex_trylock(mutex);
    if (outcome != EBUSY) return outcome;
    timespec now{};
    clock_gettime(clock, &now);
    if (now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec)) return ETIMEDOUT;
    nanosleep(&kStep, nullptr);
  }
}
