// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/soqpsk_modulator/soqpsk_modulator.hpp"

namespace iqd::soqpsk_modulator {
namespace {

using soqpsk::Modulator;

constexpr int kThreads = 256;
constexpr int kTile = 4 * kThreads;  // samples of a thread block
constexpr int kPast = Modulator::kPast;
constexpr int kFuture = Modulator::kFuture;
constexpr int kBits = Modulator::kBits;

/// The modulator's table: 1 << shift samples a bit.
struct Table {
  const float2* samples;
  int shift;

  /// Sample m, counted from the first of an even bit; bit(i) is that bit's i-th neighbour.
  template <class Bit> __device__ float2 at(int m, Bit bit) const {
    std::uint32_t row = static_cast<std::uint32_t>(m >> shift) & 1;
#pragma unroll
    for (int i = -kPast; i <= kFuture; ++i) row = row << 1 | bit(i);
    return __ldg(samples + (row << shift) + (m & ((1 << shift) - 1)));
  }
};

struct Samples {
  std::byte* y;
  std::int64_t pitch;  // bytes
  std::int64_t length;
  const std::int64_t* first_at;

  __device__ std::int64_t tile() const { return static_cast<std::int64_t>(blockIdx.x) * kTile; }
  __device__ float2* begin() const { return reinterpret_cast<float2*>(y + blockIdx.y * pitch) + tile(); }
  __device__ int count() const { return static_cast<int>(min(length - tile(), static_cast<std::int64_t>(kTile))); }
};

struct BitStream {
  const std::uint8_t* bits;
  std::int64_t pitch;
  std::int64_t length;
  const std::int64_t* first_at;
  std::int64_t start;  // sample of the first output, counted from the first bit here
};

__global__ void __launch_bounds__(kThreads) modulate_rows(const Table table, const BitStream in, const Samples out) {
  __shared__ std::uint8_t bits[kTile / 2 + kBits];  // from kPast bits before the tile's first bit on
  __shared__ int parity;                            // of the tile's first bit
  const std::int64_t start = in.start + out.tile();
  const std::int64_t first = start >> table.shift;
  const int lead = static_cast<int>(start - (first << table.shift));  // samples of that bit that lie before the tile
  const int length = out.count();
  const int span = ((lead + length - 1) >> table.shift) + kBits;
  const std::uint8_t* const row = in.bits + blockIdx.y * in.pitch;
  for (int i = static_cast<int>(threadIdx.x); i < span; i += kThreads)
    bits[i] = row[within(first - kPast + i, 0, in.length)] & 1;
  if (threadIdx.x == 0) parity = static_cast<int>((*in.first_at + first) & 1);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < length; i += kThreads) {
    const std::uint8_t* const around = bits + kPast + ((lead + i) >> table.shift);
    out.begin()[i] = table.at(lead + i + (parity << table.shift), [&](int n) { return around[n]; });
  }
}

struct Packing {
  PacketBitsView bits;
  std::int32_t samples;   // of a packet
  std::int32_t distance;  // from one packet to the next
};

__global__ void __launch_bounds__(kThreads) make_rows(const Table table, const Packing packing, const Samples out) {
  __shared__ std::int32_t begin;  // of the tile, in its first packet
  __shared__ std::uint32_t base;
  if (threadIdx.x == 0) {
    const std::int64_t n = *out.first_at + out.tile();
    begin = static_cast<std::int32_t>(n % packing.distance);
    base = packing.bits.base_of(n / packing.distance);
  }
  __syncthreads();
  const int length = out.count();
  for (int i = static_cast<int>(threadIdx.x); i < length; i += kThreads) {
    const std::int32_t packet = (begin + i) / packing.distance;
    const std::int32_t m = begin + i - packet * packing.distance;
    const std::uint32_t its_base = base + static_cast<std::uint32_t>(packet * packing.bits.payload_bits);
    const std::int32_t k = m >> table.shift;
    out.begin()[i] = m < packing.samples
                         ? table.at(m, [&](int neighbour) { return packing.bits.bit(its_base, k + neighbour); })
                         : float2{0, 0};
  }
}

/// The table on the device, and the destination of the samples.
class Output {
 public:
  explicit Output(const Modulator& modulator)
      : samples_(modulator.table()), shift_(std::countr_zero(static_cast<unsigned>(modulator.samples_per_bit()))) {}

  Table table() const noexcept { return {reinterpret_cast<const float2*>(samples_.data()), shift_}; }
  static Samples samples(const PortIo& out) noexcept { return {out.data, out.pitch, out.length, out.first_at}; }
  static dim3 grid(const PortIo& out) noexcept {
    return dim3(gpu::groups_of(out.length, kTile), static_cast<unsigned>(out.rows));
  }

 private:
  gpu::DeviceArray<cf32> samples_;
  int shift_;
};

class BitsRun final : public StageRun {
 public:
  explicit BitsRun(const Modulator& modulator) : output_(modulator) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[0];
    const dim3 grid = Output::grid(out);
    if (grid.x == 0 || grid.y == 0) return;
    const Table table = output_.table();
    const BitStream bits{reinterpret_cast<const std::uint8_t*>(in.data), in.pitch, in.length, in.first_at,
                         out.first - (in.first << table.shift)};
    modulate_rows<<<grid, kThreads, 0, gpu::stream_of(stream)>>>(table, bits, Output::samples(out));
  }

 private:
  Output output_;
};

class PacketsRun final : public StageRun {
 public:
  PacketsRun(const Modulator& modulator, const Packets& packets)
      : output_(modulator),
        pilot_(packets.pilot()),
        parities_(packets.parities()),
        packing_{packets.bits(), static_cast<std::int32_t>(packets.samples()),
                 static_cast<std::int32_t>(packets.distance())} {
    packing_.bits.pilot = pilot_.data();
    packing_.bits.parities = parities_.data();
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& out = io.out[0];
    const dim3 grid = Output::grid(out);
    if (grid.x == 0 || grid.y == 0) return;
    make_rows<<<grid, kThreads, 0, gpu::stream_of(stream)>>>(output_.table(), packing_, Output::samples(out));
  }

 private:
  Output output_;
  gpu::DeviceArray<std::uint8_t> pilot_;
  gpu::DeviceArray<std::uint32_t> parities_;
  Packing packing_;
};
}  // namespace

IQD_CUDA_HALF(construct<BitsRun>, construct<PacketsRun>)

}  // namespace iqd::soqpsk_modulator
