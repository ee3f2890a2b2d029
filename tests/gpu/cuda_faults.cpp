// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0

// Preloaded, it intercepts calls of the CUDA runtime and makes one fail:
//
//   IQD_CUDA_FAULT=cudaGraphLaunch:100:719          the 100th call of this function returns error 719
//   IQD_CUDA_FAULT=cudaGraphLaunch:100:719:sticky   and so do all later calls of all functions: a lost device
//   IQD_CUDA_FAULT=cudaGraphLaunch:100:0:hang       from then on no launch ever completes: a hung device
//   IQD_CUDA_CALLS=FILE                             counts all calls in FILE, by name: records of char[56], uint64
//
// It is not linked to libcudart, so that it can be preloaded into any program.

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// What nvcc calls for `<<<…>>>`; the runtime's public header does not declare it.
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                          std::size_t shared, cudaStream_t stream);

namespace {

/// How a function behaves once the device hangs.
enum class When : std::uint8_t {
  any,     // as usual
  launch,  // succeeds, but nothing runs
  ask,     // not ready
  wait,    // does not return
};

enum class Mode : int { armed, sticky, hung };

struct Fault {
  char function[56] = "";
  std::uint64_t call = 0;  // from 1; 0: no fault
  cudaError_t error = cudaSuccess;
  Mode then = Mode::armed;
};

struct Record {
  char name[56];
  std::atomic<std::uint64_t> calls;
};
static_assert(sizeof(Record) == 64);
constexpr int kMostRecords = 63;

/// The first record counts the faults that were made.
struct Records {
  Record all[kMostRecords + 1];
};

[[noreturn]] void give_up(const char* what, const char* which) {
  std::fprintf(stderr, "cuda_faults: %s: %s\n", what, which);
  std::_Exit(97);
}

Fault fault_of(const char* text) {
  Fault fault;
  if (!text || !*text) return fault;
  char then[16] = "";
  unsigned long long call = 0;
  int error = 0;
  const int read = std::sscanf(text, "%55[^:]:%llu:%d:%15s", fault.function, &call, &error, then);
  if (read < 3 || call == 0) give_up("IQD_CUDA_FAULT is not FUNCTION:CALL:ERROR[:sticky|:hang]", text);
  fault.call = call;
  fault.error = static_cast<cudaError_t>(error);
  if (!std::strcmp(then, "sticky"))
    fault.then = Mode::sticky;
  else if (!std::strcmp(then, "hang"))
    fault.then = Mode::hung;
  else if (*then)
    give_up("IQD_CUDA_FAULT ends in neither :sticky nor :hang", text);
  return fault;
}

/// In a file if one is set, so that the counts outlive a process that exits at once.
Records* make_records(const char* path) {
  int file = -1;
  int flags = MAP_SHARED | MAP_ANONYMOUS;
  if (path && *path) {
    file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0 || ::ftruncate(file, sizeof(Records)) != 0) give_up("IQD_CUDA_CALLS cannot be written", path);
    flags = MAP_SHARED;
  }
  void* memory = ::mmap(nullptr, sizeof(Records), PROT_READ | PROT_WRITE, flags, file, 0);
  if (file >= 0) ::close(file);
  if (memory == MAP_FAILED) give_up("no memory for the counts", path ? path : "");
  auto* records = static_cast<Records*>(memory);
  std::strcpy(records->all[0].name, "faults");
  return records;
}

Records& records() {
  static Records* const all = make_records(std::getenv("IQD_CUDA_CALLS"));
  return *all;
}
const Fault& fault() {
  static const Fault one = fault_of(std::getenv("IQD_CUDA_FAULT"));
  return one;
}

std::atomic<Mode> mode{Mode::armed};
thread_local cudaError_t pending = cudaSuccess;

/// Returns the runtime's own function.
void* find(const char* name) {
  static void* const runtime = ::dlopen("libcudart.so.13", RTLD_LAZY | RTLD_LOCAL);
  void* function = runtime ? ::dlsym(runtime, name) : nullptr;
  if (!function) give_up("the CUDA runtime has no", name);
  return function;
}

/// Each name has one record. `__cudaLaunchKernel` is counted as cudaLaunchKernel, which is what the programmer wrote.
Record& record_of(const char* name) {
  static std::atomic_flag busy = ATOMIC_FLAG_INIT;
  if (!std::strcmp(name, "__cudaLaunchKernel")) name = "cudaLaunchKernel";
  while (busy.test_and_set(std::memory_order_acquire)) ::usleep(1);
  Record* r = records().all + 1;
  while (r < std::end(records().all) && *r->name && std::strcmp(r->name, name) != 0) ++r;
  if (r == std::end(records().all)) give_up("too many functions", name);
  std::strcpy(r->name, name);
  busy.clear(std::memory_order_release);
  return *r;
}

struct Function {
  explicit Function(const char* name)
      : real(find(name)), record(record_of(name)), meant(!std::strcmp(fault().function, record.name)) {}
  void* real;
  Record& record;
  bool meant;
};

/// Counts a call; returns whether this is the one to fail.
bool hit(const Function& f) {
  const std::uint64_t call = f.record.calls.fetch_add(1) + 1;
  if (!f.meant || call != fault().call) return false;
  records().all[0].calls.fetch_add(1);
  mode = fault().then;
  return true;
}

cudaError_t failed() {
  return pending = fault().error;
}

/// Returns whether to skip the real call; `result` is then what the call returns.
bool intercepted(const Function& f, When when, cudaError_t& result) {
  const bool now = hit(f);
  const Mode m = mode;
  if (m == Mode::sticky || (now && m != Mode::hung)) {
    result = failed();
    return true;
  }
  if (m != Mode::hung || when == When::any) return false;
  while (when == When::wait) ::pause();
  result = when == When::ask ? cudaErrorNotReady : cudaSuccess;
  return true;
}

}  // namespace

#define INTERPOSE(when, name, parameters, arguments)                     \
  extern "C" cudaError_t name parameters {                               \
    static const Function function(#name);                               \
    cudaError_t result = cudaSuccess;                                    \
    if (intercepted(function, When::when, result)) return result;        \
    return reinterpret_cast<decltype(&::name)>(function.real) arguments; \
  }

// clang-format off
INTERPOSE(any, cudaDriverGetVersion, (int* version), (version))
INTERPOSE(any, cudaRuntimeGetVersion, (int* version), (version))
INTERPOSE(any, cudaGetDeviceCount, (int* count), (count))
INTERPOSE(any, cudaSetDevice, (int device), (device))
INTERPOSE(any, cudaInitDevice, (int device, unsigned device_flags, unsigned flags), (device, device_flags, flags))
INTERPOSE(any, cudaSetDeviceFlags, (unsigned flags), (flags))
INTERPOSE(any, cudaGetDeviceProperties, (cudaDeviceProp* properties, int device), (properties, device))
INTERPOSE(any, cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device), (value, attribute, device))
INTERPOSE(any, cudaDeviceGetPCIBusId, (char* id, int size, int device), (id, size, device))
INTERPOSE(any, cudaDeviceGetStreamPriorityRange, (int* least, int* greatest), (least, greatest))
INTERPOSE(any, cudaMemGetInfo, (size_t* free, size_t* total), (free, total))

INTERPOSE(any, cudaMalloc, (void** memory, size_t bytes), (memory, bytes))
INTERPOSE(wait, cudaFree, (void* memory), (memory))
INTERPOSE(any, cudaHostAlloc, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))
INTERPOSE(wait, cudaFreeHost, (void* memory), (memory))
INTERPOSE(any, cudaHostRegister, (void* memory, size_t bytes, unsigned flags), (memory, bytes, flags))
INTERPOSE(wait, cudaHostUnregister, (void* memory), (memory))
INTERPOSE(any, cudaHostGetDevicePointer, (void** device, void* host, unsigned flags), (device, host, flags))

INTERPOSE(any, cudaStreamCreate, (cudaStream_t* stream), (stream))
INTERPOSE(any, cudaStreamCreateWithFlags, (cudaStream_t* stream, unsigned flags), (stream, flags))
INTERPOSE(any, cudaStreamCreateWithPriority, (cudaStream_t* stream, unsigned flags, int priority), (stream, flags, priority))
INTERPOSE(launch, cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags), (stream, event, flags))
INTERPOSE(ask, cudaStreamQuery, (cudaStream_t stream), (stream))
INTERPOSE(wait, cudaStreamSynchronize, (cudaStream_t stream), (stream))
INTERPOSE(wait, cudaDeviceSynchronize, (), ())

INTERPOSE(any, cudaEventCreate, (cudaEvent_t* event), (event))
INTERPOSE(any, cudaEventCreateWithFlags, (cudaEvent_t* event, unsigned flags), (event, flags))
INTERPOSE(launch, cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
INTERPOSE(ask, cudaEventQuery, (cudaEvent_t event), (event))
INTERPOSE(wait, cudaEventSynchronize, (cudaEvent_t event), (event))
INTERPOSE(ask, cudaEventElapsedTime, (float* ms, cudaEvent_t begin, cudaEvent_t end), (ms, begin, end))

INTERPOSE(any, cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode how), (stream, how))
INTERPOSE(any, cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), (stream, graph))
INTERPOSE(any, cudaGraphInstantiate, (cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags), (made, graph, flags))
INTERPOSE(any, cudaGraphInstantiateWithFlags, (cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags), (made, graph, flags))
INTERPOSE(launch, cudaGraphUpload, (cudaGraphExec_t graph, cudaStream_t stream), (graph, stream))
INTERPOSE(launch, cudaGraphLaunch, (cudaGraphExec_t graph, cudaStream_t stream), (graph, stream))

INTERPOSE(wait, cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind), (to, from, bytes, kind))
INTERPOSE(launch, cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream), (to, from, bytes, kind, stream))
INTERPOSE(launch, cudaMemcpy2DAsync, (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream), (to, to_pitch, from, from_pitch, width, height, kind, stream))
INTERPOSE(wait, cudaMemset, (void* to, int value, size_t bytes), (to, value, bytes))
INTERPOSE(launch, cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream), (to, value, bytes, stream))

INTERPOSE(launch, cudaLaunchKernel, (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream), (kernel, grid, block, arguments, shared, stream))
INTERPOSE(launch, __cudaLaunchKernel, (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream), (kernel, grid, block, arguments, shared, stream))
INTERPOSE(launch, cudaLaunchKernelExC, (const cudaLaunchConfig_t* config, const void* kernel, void** arguments), (config, kernel, arguments))
INTERPOSE(launch, cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function_, void* data), (stream, function_, data))
INTERPOSE(any, cudaFuncSetAttribute, (const void* kernel, cudaFuncAttribute attribute, int value), (kernel, attribute, value))
INTERPOSE(any, cudaLibraryLoadData, (cudaLibrary_t* library, const void* code, cudaJitOption* options, void** values, unsigned count, cudaLibraryOption* load_options, void** load_values, unsigned load_count), (library, code, options, values, count, load_options, load_values, load_count))
// clang-format on

// The last error of this thread: ours first, until it was read.

extern "C" cudaError_t cudaPeekAtLastError() {
  static void* const real = find("cudaPeekAtLastError");
  if (mode == Mode::sticky) return fault().error;
  return pending != cudaSuccess ? pending : reinterpret_cast<decltype(&::cudaPeekAtLastError)>(real)();
}

extern "C" cudaError_t cudaGetLastError() {
  static void* const real = find("cudaGetLastError");
  const cudaError_t before = cudaPeekAtLastError();
  reinterpret_cast<decltype(&::cudaGetLastError)>(real)();
  pending = cudaSuccess;
  return before;
}
