// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: the expressions of ops.def are rounded as on the CPU.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "gpu/runtime.hpp"
#include "pipeline/stages/dsp/elementwise/elementwise_cuda.hpp"

namespace iqd::elementwise {
namespace {

constexpr int kThreads = 128;
constexpr int kVectors = 4;  // of a thread and an input: their loads are all under way before the first is used

/// One block of rows. An operation of one input has its second where its first is, and does not read it.
struct Job {
  const std::byte* x[2];
  std::byte* y;
  std::int64_t x_pitch[2];  // bytes
  std::int64_t y_pitch;
  std::int64_t positions;
  std::int64_t item;          // elements of a position
  const std::int32_t* count;  // where it is not null, so many positions
  std::int32_t* count_out;
};

template <class Op, class X> using Result = decltype(std::declval<const Op&>()(X(), X()));
/// Elements of an access: the larger ones take 16 bytes.
template <class Op, class X> constexpr int kWidth = 16 / static_cast<int>(std::max(sizeof(X), sizeof(Result<Op, X>)));
template <class Op, class X> constexpr int kTile = kThreads* kVectors* kWidth<Op, X>;

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
template <class T, int n> __device__ bool aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % (n * sizeof(T)) == 0;
}

/// A tile by vectors; the elements that fill none are its last.
template <class Op, class X>
__device__ void apply_to_vectors(const Op& op, const X* const (&x)[2], Result<Op, X>* y, int n) {
  constexpr int kN = kWidth<Op, X>;
  using From = Vector<X, kN>;
  using To = Vector<Result<Op, X>, kN>;
  From loaded[Op::kInputs][kVectors];
  const auto place = [](int v) { return (v * kThreads + static_cast<int>(threadIdx.x)) * kN; };
#pragma unroll
  for (int v = 0; v < kVectors; ++v)
#pragma unroll
    for (int in = 0; in < Op::kInputs; ++in)
      if (place(v) + kN <= n) loaded[in][v] = load<From>(x[in] + place(v));
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    if (place(v) + kN > n) continue;
    To to;
#pragma unroll
    for (int i = 0; i < kN; ++i) to.at[i] = op(loaded[0][v].at[i], loaded[Op::kInputs - 1][v].at[i]);
    store(y + place(v), to);
  }
  const int last = n / kN * kN + static_cast<int>(threadIdx.x);
  if (last < n) store(y + last, op(load<X>(x[0] + last), load<X>(x[Op::kInputs - 1] + last)));
}

/// A tile of a row that begins anywhere.
template <class Op, class X>
__device__ void apply_singly(const Op& op, const X* const (&x)[2], Result<Op, X>* y, int n) {
  constexpr int kBatch = 4;
  X loaded[Op::kInputs][kBatch];
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < n; first += kBatch * kThreads) {
#pragma unroll
    for (int i = 0; i < kBatch; ++i)
#pragma unroll
      for (int in = 0; in < Op::kInputs; ++in)
        if (first + i * kThreads < n) loaded[in][i] = load<X>(x[in] + first + i * kThreads);
#pragma unroll
    for (int i = 0; i < kBatch; ++i)
      if (first + i * kThreads < n) store(y + first + i * kThreads, op(loaded[0][i], loaded[Op::kInputs - 1][i]));
  }
}

template <class Op, class X> __global__ void __launch_bounds__(kThreads) apply_to_rows(const Op op, const Job job) {
  std::int64_t positions = job.positions;
  if (job.count != nullptr) {
    positions = *job.count;
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *job.count_out = static_cast<std::int32_t>(positions);
  }
  constexpr std::int64_t kMost = kTile<Op, X>;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kMost;
  const auto n = static_cast<int>(max(min(positions * job.item - first, kMost), std::int64_t{0}));
  const auto row_of = [&](int in) {
    return reinterpret_cast<const X*>(job.x[in] + blockIdx.y * job.x_pitch[in]) + first;
  };
  const X* const x[2] = {row_of(0), row_of(Op::kInputs - 1)};
  auto* const y = reinterpret_cast<Result<Op, X>*>(job.y + blockIdx.y * job.y_pitch) + first;
  constexpr int kN = kWidth<Op, X>;
  if (aligned<X, kN>(x[0]) && aligned<X, kN>(x[1]) && aligned<Result<Op, X>, kN>(y))
    apply_to_vectors<Op, X>(op, x, y, n);
  else
    apply_singly<Op, X>(op, x, y, n);
}

template <class Op, class X> class Run final : public StageRun {
 public:
  Run(const Op& op, bool counted) : op_(op), counted_(counted) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& out = io.out[0];
    const unsigned tiles = gpu::groups_of(out.length * out.item, kTile<Op, X>);
    const dim3 grid(counted_ ? std::max(tiles, 1u) : tiles, static_cast<unsigned>(out.rows));
    if (grid.x > 0 && grid.y > 0) apply_to_rows<Op, X><<<grid, kThreads, 0, gpu::stream_of(stream)>>>(op_, job_of(io));
  }

 private:
  Job job_of(const StageIo& io) const noexcept {
    const PortIo& x0 = io.in[0];
    const PortIo& x1 = io.in[Op::kInputs - 1];
    const PortIo& out = io.out[0];
    const auto at = [&](const PortIo& in) {
      return in.data + (out.first - in.first) * in.item * static_cast<std::int64_t>(sizeof(X));
    };
    return {{at(x0), at(x1)}, out.data, {x0.pitch, x1.pitch},          out.pitch,
            out.length,       out.item, counted_ ? x0.count : nullptr, out.count};
  }

  Op op_;
  bool counted_;
};

template <class Op> std::unique_ptr<StageRun> make(const Op& op, [[maybe_unused]] Element in, bool counted) {
  if constexpr (Op::Input::template kContain<float>)
    if (in == Element::f32) return std::make_unique<Run<Op, float>>(op, counted);
  if constexpr (Op::Input::template kContain<Complex>) return std::make_unique<Run<Op, Complex>>(op, counted);
  return nullptr;
}

}  // namespace

const void* cuda_half();
const void* cuda_half() {
  static constexpr CudaHalf half{
#define PARAMETER(...)
#define OP(name, ...) .make_##name = make<op::name>,
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef PARAMETER
#undef OP
  };
  return &half;
}

}  // namespace iqd::elementwise
