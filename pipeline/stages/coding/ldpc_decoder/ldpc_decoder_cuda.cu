// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU.
#include <cuda_fp16.h>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/coding/ldpc_decoder/ldpc_decoder.hpp"
#include "pipeline/stages/coding/ldpc_decoder/row_thread.hpp"

namespace iqd::ldpc_decoder {
namespace {

// Words in parallel on a multiprocessor: at most four warps a scheduler, so that each thread can have 128 registers, 76
// of them for messages.
constexpr int kGroups = 5;
constexpr int kTallyThreads = 1024;

struct Block {
  Job job;
  const std::int32_t* items;
  std::uint8_t* failed;  // [word]
  std::int64_t* events;
  std::int32_t* counts[4];
};

__device__ float llr_at(const Setup& setup, const void* llr, std::int64_t at) {
  if (setup.element == Element::f32) return static_cast<const float*>(llr)[at];
  if (setup.element == Element::i8) return static_cast<const std::int8_t*>(llr)[at];
  return __half2float(static_cast<const __half*>(llr)[at]);
}

/// One thread block per word, one thread per row of a block row. If the lift is a multiple of 32, the threads of a warp
/// access different banks.
template <int kCode> __global__ void __launch_bounds__(RowThread<kCode>::kLift, kGroups)
    decode_words(const Setup setup, const Block block) {
  using Thread = RowThread<kCode>;
  __shared__ float posterior[Thread::kN];
  __shared__ std::int64_t words;
  const auto i = static_cast<int>(threadIdx.x);
  const std::int64_t word = blockIdx.x;
  if (i == 0) words = *block.items * setup.words;
  const WordPlaces places = setup.places_of(word, Thread::kN);
  for (int n = i; n < Thread::kN; n += Thread::kLift)
    posterior[n] = usable_llr(llr_at(setup, block.job.llr, places.at(n)));
  __syncthreads();
  if (word >= words) return;

  float messages[Thread::kEdges];
  for (float& m : messages) m = 0;
  bool good = false;
  int made = 0;
  while (made < setup.iterations && !good) {
    Thread::iterate(i, setup.scale, posterior, messages, [] { __syncthreads(); });
    ++made;
    if (!setup.early_stop && made < setup.iterations) continue;
    __syncthreads();
    good = __syncthreads_and(Thread::hold(i, posterior)) != 0;
  }

  bool known = true;
  for (int n = i; n < Thread::kK; n += Thread::kLift) {
    block.job.bits[word * Thread::kK + n] = posterior[n] < 0;
    known = known && posterior[n] != 0;
  }
  for (int n = i; block.job.llr_out && n < Thread::kN; n += Thread::kLift)
    block.job.llr_out[word * Thread::kN + n] = posterior[n];
  good = __syncthreads_and(known) && good;
  if (i > 0) return;
  block.failed[word] = !good;
  if (block.job.iterations) block.job.iterations[word] = made;
}

__global__ void __launch_bounds__(kTallyThreads) count_words(const Setup setup, const Block block) {
  __shared__ int failed;
  __shared__ std::int32_t items;
  if (threadIdx.x == 0) {
    failed = 0;
    items = *block.items;
  }
  __syncthreads();
  const std::int64_t words = items * setup.words;
  int mine = 0;
  for (std::int64_t w = threadIdx.x; w < words; w += kTallyThreads) mine += block.failed[w];
  atomicAdd(&failed, mine);
  __syncthreads();
  if (threadIdx.x > 0) return;
  block.events[kWords] = words;
  block.events[kFailed] = failed;
  *block.counts[kBits] = *block.counts[kIterations] = *block.counts[kLlrOut] = items;
  *block.counts[kTally] = 1;
}

using Kernel = void (*)(Setup, Block);
template <int... kCode> Kernel kernel_for(coding::CodeName code, std::integer_sequence<int, kCode...>) {
  constexpr Kernel kernels[] = {decode_words<kCode>...};
  return kernels[static_cast<std::size_t>(code)];
}

class Run final : public StageRun {
 public:
  explicit Run(const Setup& setup)
      : setup_(setup), kernel_(kernel_for(setup.code, std::make_integer_sequence<int, std::size(kLdpcCodes)>())) {
    gpu::load_kernels("loading ldpc_decoder", kernel_, count_words);
  }

  std::size_t device_scratch_bytes() const noexcept override { return static_cast<std::size_t>(setup_.most); }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const auto stream = gpu::stream_of(view);
    Block block{.job = job_of(io),
                .items = io.in[0].count,
                .failed = reinterpret_cast<std::uint8_t*>(io.device_scratch),
                .events = reinterpret_cast<std::int64_t*>(io.out[kTally].data),
                .counts = {}};
    for (std::size_t o = 0; o < 4; ++o) block.counts[o] = io.out[o].count;
    const auto words = static_cast<unsigned>(io.in[0].length * setup_.words);
    if (words > 0) kernel_<<<words, code_of(setup_.code).lift, 0, stream>>>(setup_, block);
    count_words<<<1, kTallyThreads, 0, stream>>>(setup_, block);
  }

 private:
  Setup setup_;
  Kernel kernel_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::ldpc_decoder
