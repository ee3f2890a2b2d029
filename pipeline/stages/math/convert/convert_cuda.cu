// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

#include "gpu/map_rows.cuh"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/convert/conversion.hpp"
#include "pipeline/stages/math/convert/convert.hpp"

namespace iqd::convert {

/// The hardware's conversion is exact, except for the bits of a NaN.
template <> struct ToFloat<f16> {
  __device__ static float of(f16 x) {
    const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000) << 16;
    const std::uint32_t magnitude = x.bits & 0x7fff;
    const float kept = __uint_as_float(sign | 0x7f800000 | (magnitude << 13));
    return magnitude > 0x7c00 ? kept : __half2float(__ushort_as_half(x.bits));
  }
};
template <> struct FromFloat<f16> {
  __device__ static f16 of(float x) {
    const auto nan = static_cast<std::uint16_t>((__float_as_uint(x) >> 16 & 0x8000) | 0x7e00);
    return {x != x ? nan : __half_as_ushort(__float2half_rn(x))};
  }
};

namespace {

constexpr int kBatch = 8;  // elements a thread, if rows are not aligned

/// Launches the kernel for real numbers; a complex element counts as two.
using Launch = void (*)(const gpu::MapJob& job, std::int64_t rows, cudaStream_t stream);

template <class From, class To> void launch(const gpu::MapJob& job, std::int64_t rows, cudaStream_t stream) {
  gpu::put_map_rows<kBatch>(Conversion<From, To>(), job, rows, stream);
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
    launch_({.positions = out.length,
             .item = out.item * parts_,
             .x = {x},
             .y = {out.data},
             .x_pitch = {in.pitch},
             .y_pitch = {out.pitch},
             .count = {counted_ ? in.count : nullptr},
             .count_out = {out.count}},
            out.rows, gpu::stream_of(stream));
  }

 private:
  Launch launch_;
  std::int64_t size_;   // bytes of an input's element
  std::int64_t parts_;  // real numbers of an element
  bool counted_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::convert
