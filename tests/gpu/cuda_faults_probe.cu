// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0

// Calls the CUDA runtime the way iqd does: from a module that is opened at run time and linked to the shared libcudart.
// Each function returns the error as a number; testing them needs no device.

#include <cuda_runtime.h>

namespace {
__global__ void do_nothing() {}
}  // namespace

extern "C" {
int get_device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count);
}
int stream_query() {
  return cudaStreamQuery(nullptr);
}
int event_record() {
  return cudaEventRecord(nullptr, nullptr);
}
int launch() {
  do_nothing<<<1, 1>>>();
  return cudaPeekAtLastError();
}
int peek() {
  return cudaPeekAtLastError();
}
int take() {
  return cudaGetLastError();
}
}
