// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/coding/ldpc_encoder/ldpc_encoder.hpp"

namespace iqd::ldpc_encoder {
namespace {

struct Job {
  const LdpcEntry* entries;
  int entry_count;
  int lift;
  int known;  // blocks of information bits
  int rows;
  int shift;  // of the first parity block in the sum of all rows
  std::int64_t of_item;
  const std::uint8_t* bits;
  std::uint8_t* words;
  const std::int32_t* items;
  std::int32_t* count;
};

/// One thread's row of each block row.
struct RowThread {
  const Job& job;
  std::uint8_t* word;
  int i;

  __device__ std::uint8_t& bit(int column, int shift) const { return word[column * job.lift + (i + shift) % job.lift]; }
  __device__ std::uint8_t& bit(const LdpcEntry& e) const { return bit(e.column, e.shift); }

  /// In the order of ldpc_encode: the first parity block follows from all rows, each other one from the row in which it
  /// is the last entry.
  __device__ void solve() const {
    std::uint8_t sum = 0;
    for (int e = 0; e < job.entry_count; ++e)
      if (job.entries[e].column < job.known) sum ^= bit(job.entries[e]);
    bit(job.known, job.shift) = sum;
    __syncthreads();
    for (int row = 0, e = 0; row + 1 < job.rows; ++row, ++e) {
      for (sum = 0; job.entries[e + 1].row == row; ++e) sum ^= bit(job.entries[e]);
      bit(job.entries[e]) = sum;
      __syncthreads();
    }
  }
};

/// One thread block per word.
__global__ void encode_words(const Job job) {
  extern __shared__ std::uint8_t word[];
  __shared__ std::int64_t words;
  const auto i = static_cast<int>(threadIdx.x);
  const std::int64_t k = job.known * job.lift, n = k + job.rows * job.lift;
  if (i == 0) {
    const std::int32_t items = *job.items;
    words = items * job.of_item;
    if (blockIdx.x == 0) *job.count = items;
  }
  __syncthreads();
  if (blockIdx.x >= words) return;
  for (int b = i; b < k; b += job.lift) word[b] = job.bits[blockIdx.x * k + b] & 1;
  __syncthreads();
  RowThread{job, word, i}.solve();
  for (int b = i; b < n; b += job.lift) job.words[blockIdx.x * n + b] = word[b];
}

class Run final : public StageRun {
 public:
  Run(const LdpcCode& code, std::int64_t words_of_item)
      : code_(code), words_of_item_(words_of_item), entries_(code.entries) {
    gpu::load_kernels("loading ldpc_encoder", encode_words);
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const Job job{.entries = entries_.data(),
                  .entry_count = static_cast<int>(entries_.size()),
                  .lift = code_.lift,
                  .known = code_.columns - code_.rows,
                  .rows = code_.rows,
                  .shift = code_.first_parity_shift(),
                  .of_item = words_of_item_,
                  .bits = reinterpret_cast<const std::uint8_t*>(io.in[0].data),
                  .words = reinterpret_cast<std::uint8_t*>(io.out[0].data),
                  .items = io.in[0].count,
                  .count = io.out[0].count};
    const auto groups = static_cast<unsigned>(std::max<std::int64_t>(io.in[0].length * words_of_item_, 1));
    encode_words<<<groups, code_.lift, code_.n(), gpu::stream_of(view)>>>(job);
  }

 private:
  const LdpcCode& code_;
  std::int64_t words_of_item_;
  gpu::DeviceArray<LdpcEntry> entries_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::ldpc_encoder
