// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into iqd by the chaos test: a disk that is slow or fails, a stepped host clock, threads that cannot be
// created. Four numbers in the file $IQD_HOST_FAULTS, which the test may write at any time, control it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct faults {
  volatile int64_t disk_delay_ms, disk_error, thread_error, clock_ns;
};

static struct faults nothing;
static struct faults* faults = &nothing;

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("IQD_HOST_FAULTS");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void* const mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *faults, PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) faults = mapped;
  if (file >= 0) close(file);
}

/// 0, or the errno of a write to this file.
static int disk(int file) {
  struct stat about;
  if ((!faults->disk_delay_ms && !faults->disk_error) || fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
  usleep((useconds_t)(faults->disk_delay_ms * 1000));
  return (int)faults->disk_error;
}

static void* next_of(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

ssize_t write(int file, const void* data, size_t count) {
  static ssize_t (*next)(int, const void*, size_t);
  if (!next) *(void**)&next = next_of("write");
  if ((errno = disk(file)) != 0) return -1;
  return next(file, data, count);
}

ssize_t pwrite(int file, const void* data, size_t count, off_t at) {
  static ssize_t (*next)(int, const void*, size_t, off_t);
  if (!next) *(void**)&next = next_of("pwrite");
  if ((errno = disk(file)) != 0) return -1;
  return next(file, data, count, at);
}

ssize_t pwrite64(int file, const void* data, size_t count, off_t at) {
  return pwrite(file, data, count, at);
}

int fsync(int file) {
  static int (*next)(int);
  if (!next) *(void**)&next = next_of("fsync");
  if ((errno = disk(file)) != 0) return -1;
  return next(file);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (!next) *(void**)&next = next_of("pthread_create");
  return faults->thread_error ? (int)faults->thread_error : next(thread, attributes, run, argument);
}

static int64_t step(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? faults->clock_ns : 0;
}

/// A time stepped back before 1970 stays there.
int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*next)(clockid_t, struct timespec*);
  if (!next) *(void**)&next = next_of("clock_gettime");
  const int outcome = next(clock, now);
  const int64_t by = step(clock);
  if (outcome != 0 || by == 0) return outcome;
  const int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + by;
  now->tv_sec = ns < 0 ? 0 : ns / 1000000000;
  now->tv_nsec = ns < 0 ? 0 : ns % 1000000000;
  return 0;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  struct timespec precise;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* seconds) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (seconds) *seconds = precise.tv_sec;
  return precise.tv_sec;
}

/// Converts a time of the stepped clock to the kernel's. Times since boot are long before 2001, and stay as they are.
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const struct timespec* until) {
  static int (*next)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
  if (!next) *(void**)&next = next_of("pthread_cond_timedwait");
  if (faults->clock_ns == 0 || until->tv_sec < 1000000000) return next(condition, mutex, until);
  const int64_t ns = (int64_t)until->tv_sec * 1000000000 + until->tv_nsec - faults->clock_ns;
  const struct timespec real = {ns < 0 ? 0 : ns / 1000000000, ns < 0 ? 0 : ns % 1000000000};
  return next(condition, mutex, &real);
}
