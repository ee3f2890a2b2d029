// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// `std::timed_mutex` calls pthread_mutex_clocklock, which GCC 12's thread sanitizer does not intercept: it treats what
// the lock guards as unguarded. Programs under that sanitizer get this version, made of calls that it does intercept.
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
