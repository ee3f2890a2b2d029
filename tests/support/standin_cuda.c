// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 for machines without a GPU: as much of the driver as python/iqd/_worker_device.py calls. The memory of
// its one device is the host's.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kMostAreas = 64, kError = 700 };
static struct { uint64_t at, bytes; } areas[kMostAreas];
static int area_count, has_failed;

/// As after a kernel that wrote where it may not: from now on each call fails.
void fail(void) {
  has_failed = 1;
}

static int state(void) {
  return has_failed ? kError : 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const char* path;
static int answer = -1;

static void* serve(void* nothing) {
  pthread_mutex_lock(&mutex);
  while (!path) pthread_cond_wait(&changed, &mutex);
  answer = open(path, O_WRONLY | O_CREAT, 0600) < 0 ? errno : 0;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return nothing;
}
/// The error with which a file cannot be made by a thread that the driver has started; 0 if it can.
int make_file(const char* name) {
  pthread_mutex_lock(&mutex);
  path = name;
  pthread_cond_broadcast(&changed);
  while (answer < 0) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  return answer;
}

int cuInit(unsigned flags) {
  pthread_t thread;
  return flags != 0 || pthread_create(&thread, NULL, serve, NULL) != 0;
}
int cuDeviceGet(int* device, int number) {
  *device = number;
  return number == 0 ? 0 : 101;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = areas;
  return device;
}
int cuCtxSetCurrent(void* context) {
  return context != areas;
}
int cuCtxSynchronize(void) {
  return state();
}
int cuGetErrorString(int code, const char** text) {
  *text = code == kError ? "an illegal memory access was encountered" : "invalid device ordinal";
  return 0;
}
int cuMemAlloc_v2(uint64_t* memory, size_t bytes) {
  if (area_count == kMostAreas) return 2;
  *memory = (uintptr_t)malloc(bytes);
  areas[area_count].at = *memory;
  areas[area_count++].bytes = bytes;
  return state();
}
int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  (void)memory;
  (void)bytes;
  (void)flags;
  return 801;  // not supported
}
static int is_mine(uint64_t at, size_t bytes) {
  for (int i = 0; i < area_count; ++i)
    if (areas[i].at <= at && at + bytes <= areas[i].at + areas[i].bytes) return 1;
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t into, const void* from, size_t bytes) {
  if (!is_mine(into, bytes)) return 1;
  memcpy((void*)(uintptr_t)into, from, bytes);
  return state();
}
int cuMemcpyDtoH_v2(void* into, uint64_t from, size_t bytes) {
  if (!is_mine(from, bytes)) return 1;
  memcpy(into, (const void*)(uintptr_t)from, bytes);
  return state();
}
int cuPointerGetAttribute(int* device, int attribute, uint64_t at) {
  *device = is_mine(at, 1) ? 0 : 1;
  return attribute == 9 ? 0 : 1;
}
