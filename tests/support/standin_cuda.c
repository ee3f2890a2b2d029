// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 for machines without a GPU: as much of the driver as python/iqd/_worker_device.py calls. The memory of
// its one device is the host's.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kMostAreas = 64, kError = 700 };
static struct {
  uint64_t at, bytes;
} areas[kMostAreas];
static int area_count, has_failed;

/// As after a kernel that wrote where it may not: from now on each call fails.
void fail(void) {
  has_failed = 1;
}

static int state(void) {
  return has_failed ? kError : 0;
}

int cuInit(unsigned flags) {
  return flags != 0;
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
