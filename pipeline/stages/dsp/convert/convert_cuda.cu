// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "gpu/runtime.hpp"
#include "pipeline/stages/dsp/convert/convert.hpp"
#include "pipeline/stages/dsp/convert/convert_cuda.hpp"

namespace iqd::convert {
namespace {

constexpr int kThreads = 128;
constexpr int kVectors = 4;  // of a thread: their loads are all under way before the first is used

/// One block of rows. A complex number is two parts.
struct Job {
  const std::byte* x;
  std::byte* y;
  std::int64_t x_pitch;  // bytes
  std::int64_t y_pitch;
  std::int64_t positions;
  std::int64_t parts;         // of a position
  const std::int32_t* count;  // where it is not null, so many positions
  std::int32_t* count_out;
};

template <class Integer> constexpr float kScale = -static_cast<float>(std::numeric_limits<Integer>::min());

__device__ float float_of(float x) {
  return x;
}
template <class Integer> __device__ float float_of(Integer x) {
  return static_cast<float>(x) * (1 / kScale<Integer>);
}
/// The conversion in hardware is exact, but for the bits of a NaN.
__device__ float float_of(f16 x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000) << 16;
  const std::uint32_t magnitude = x.bits & 0x7fff;
  const float kept = __uint_as_float(sign | 0x7f800000 | (magnitude << 13));
  return magnitude > 0x7c00 ? kept : __half2float(__ushort_as_half(x.bits));
}

/// Rounded to nearest, halves to even, and saturated; NaN gives 0: so the hardware does it for 32 bits.
template <class To> __device__ To from_float(float x) {
  if constexpr (std::is_same_v<To, float>) {
    return x;
  } else if constexpr (std::is_same_v<To, f16>) {
    const auto nan = static_cast<std::uint16_t>((__float_as_uint(x) >> 16 & 0x8000) | 0x7e00);
    return {x != x ? nan : __half_as_ushort(__float2half_rn(x))};
  } else {
    const int whole = __float2int_rn(x * kScale<To>);
    constexpr int kLeast = std::numeric_limits<To>::min();
    constexpr int kMost = std::numeric_limits<To>::max();
    return static_cast<To>(min(max(whole, kLeast), kMost));
  }
}

template <class To, class From> __device__ To converted(From x) {
  if constexpr (std::is_same_v<From, To>)
    return x;
  else
    return from_float<To>(float_of(x));
}

template <class T, int n> struct Vector { T at[n]; };
/// One access to memory, of 4, 8 or 16 bytes.
template <class T> using Word =
    std::conditional_t<sizeof(T) == 16, uint4, std::conditional_t<sizeof(T) == 8, uint2, uint>>;
template <class T> __device__ T load(const void* from) {
  return std::bit_cast<T>(*static_cast<const Word<T>*>(from));
}
template <class T> __device__ void store(void* to, const T& value) {
  *static_cast<Word<T>*>(to) = std::bit_cast<Word<T>>(value);
}

template <class From, class To> constexpr int kWidth = 16 / static_cast<int>(std::max(sizeof(From), sizeof(To)));
template <class From, class To> constexpr int kTile = kThreads* kVectors* kWidth<From, To>;

template <class T, int n> __device__ bool aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % (n * sizeof(T)) == 0;
}

/// A tile by vectors; the elements that fill none are its last.
template <class From, class To> __device__ void convert_vectors(const From* x, To* y, std::int64_t n) {
  constexpr int kN = kWidth<From, To>;
  Vector<From, kN> loaded[kVectors];
  const auto place = [](int v) { return (v * kThreads + static_cast<int>(threadIdx.x)) * kN; };
#pragma unroll
  for (int v = 0; v < kVectors; ++v)
    if (place(v) + kN <= n) loaded[v] = load<Vector<From, kN>>(x + place(v));
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    if (place(v) + kN > n) continue;
    Vector<To, kN> to;
#pragma unroll
    for (int i = 0; i < kN; ++i) to.at[i] = converted<To>(loaded[v].at[i]);
    store(y + place(v), to);
  }
  const std::int64_t last = n / kN * kN + threadIdx.x;
  if (last < n) y[last] = converted<To>(x[last]);
}

/// A tile of a row that begins anywhere.
template <class From, class To> __device__ void convert_singly(const From* x, To* y, std::int64_t n) {
  constexpr int kBatch = 8;
  From loaded[kBatch];
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < n; first += kBatch * kThreads) {
#pragma unroll
    for (int i = 0; i < kBatch; ++i)
      if (first + i * kThreads < n) loaded[i] = x[first + i * kThreads];
#pragma unroll
    for (int i = 0; i < kBatch; ++i)
      if (first + i * kThreads < n) y[first + i * kThreads] = converted<To>(loaded[i]);
  }
}

template <class From, class To> __global__ void __launch_bounds__(kThreads) convert_rows(const Job job) {
  std::int64_t positions = job.positions;
  if (job.count != nullptr) {
    positions = *job.count;
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *job.count_out = static_cast<std::int32_t>(positions);
  }
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile<From, To>;
  const std::int64_t n = min(positions * job.parts - first, static_cast<std::int64_t>(kTile<From, To>));
  if (n <= 0) return;
  const From* const x = reinterpret_cast<const From*>(job.x + blockIdx.y * job.x_pitch) + first;
  To* const y = reinterpret_cast<To*>(job.y + blockIdx.y * job.y_pitch) + first;
  constexpr int kN = kWidth<From, To>;
  if (aligned<From, kN>(x) && aligned<To, kN>(y))
    convert_vectors(x, y, n);
  else
    convert_singly(x, y, n);
}

using Launch = void (*)(const Job& job, std::int64_t rows, cudaStream_t stream);

template <class From, class To> void launch(const Job& job, std::int64_t rows, cudaStream_t stream) {
  const unsigned tiles = gpu::groups_of(job.positions * job.parts, kTile<From, To>);
  const dim3 grid(job.count == nullptr ? tiles : std::max(tiles, 1u), static_cast<unsigned>(rows));
  if (grid.x > 0 && grid.y > 0) convert_rows<From, To><<<grid, kThreads, 0, stream>>>(job);
}

template <class From> Launch launch_from(Element to) {
  switch (to) {
    case Element::f16: return launch<From, f16>;
    case Element::i8: return launch<From, std::int8_t>;
    case Element::i16:
    case Element::sc16: return launch<From, std::int16_t>;
    case Element::i32: return launch<From, std::int32_t>;
    default: return launch<From, float>;
  }
}

Launch launch_of(Element from, Element to) {
  switch (from) {
    case Element::f16: return launch_from<f16>(to);
    case Element::i8: return launch_from<std::int8_t>(to);
    case Element::i16:
    case Element::sc16: return launch_from<std::int16_t>(to);
    case Element::i32: return launch_from<std::int32_t>(to);
    default: return launch_from<float>(to);
  }
}

class Run final : public StageRun {
 public:
  Run(Element from, Element to, bool counted)
      : launch_(launch_of(from, to)),
        size_(static_cast<std::int64_t>(size_of(from))),
        parts_(traits(from).complex ? 2 : 1),
        counted_(counted) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[0];
    const std::byte* const x = in.data + (out.first - in.first) * in.item * size_;
    launch_({x, out.data, in.pitch, out.pitch, out.length, out.item * parts_, counted_ ? in.count : nullptr, out.count},
            out.rows, gpu::stream_of(stream));
  }

 private:
  Launch launch_;
  std::int64_t size_;   // bytes of an input's element
  std::int64_t parts_;  // of an element
  bool counted_;
};

std::unique_ptr<StageRun> make(Element from, Element to, bool counted) {
  return std::make_unique<Run>(from, to, counted);
}

}  // namespace

const void* cuda_half();
const void* cuda_half() {
  static constexpr CudaHalf half{make};
  return &half;
}

}  // namespace iqd::convert
