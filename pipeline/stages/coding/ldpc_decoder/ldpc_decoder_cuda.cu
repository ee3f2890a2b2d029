// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU.
#include <cuda_fp16.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/coding/ldpc_decoder/ldpc_decoder.hpp"
#include "pipeline/stages/coding/ldpc_decoder/row_thread.hpp"
#include "pipeline/stages/coding/ldpc_decoder/table_thread.hpp"
#include "signal/codes/ldpc_codes.hpp"

namespace iqd::ldpc_decoder {
namespace {

// Words in parallel on a multiprocessor: at most four warps a scheduler, so that each thread can have 128 registers, 76
// of them for messages.
constexpr int kGroups = 5;
constexpr int kTallyThreads = 1024;
constexpr std::uint8_t kNoWord = 2;

struct Block {
  Job job;
  const std::int32_t* items;
  std::uint8_t* failed;  // [word]; kNoWord: the item has no such word
  std::int64_t* events;
  std::int32_t* counts[kPorts];
};

__device__ float llr_at(const Setup& setup, const void* llr, std::int64_t at) {
  if (setup.element == Element::f32) return static_cast<const float*>(llr)[at];
  if (setup.element == Element::i8) return static_cast<const std::int8_t*>(llr)[at];
  return __half2float(static_cast<const __half*>(llr)[at]);
}

/// Fills the soft outputs of a word's marker, and of what is behind an item's words.
__device__ void put_rest(const Setup& setup, const Job& job, const WordPlaces& places) {
  const auto put = [&](std::int64_t at) {
    const float received = usable_llr(llr_at(setup, job.llr, at));
    job.put(at, received, received, setup.unit);
  };
  places.for_marker(threadIdx.x, static_cast<std::int64_t>(blockDim.x), put);
  places.for_rest(threadIdx.x, static_cast<std::int64_t>(blockDim.x), put);
}

/// Fills the soft outputs of a word of `count` LLRs, and of what is behind an item's words; by all threads of a thread
/// block. `decided(turn, place)` is the posterior of what is sent as number `turn`, and says where it stands.
template <class Decided> __device__ void put_soft(const Setup& setup, const Job& job, std::int64_t word,
                                                  const WordPlaces& places, int count, const Decided& decided) {
  const auto each = static_cast<int>(blockDim.x);
  for (int n = static_cast<int>(threadIdx.x); n < count; n += each) {
    int place = n;
    const float posterior = decided(n, place);
    const std::int64_t at = places.at(place);
    job.put(at, setup.turned(posterior, place), usable_llr(llr_at(setup, job.llr, at)), setup.unit);
    if (job.llr_out) job.llr_out[word * count + place] = posterior * setup.unit;
  }
  put_rest(setup, job, places);
}

/// The outputs of a word that an item does not have.
__device__ void put_none(const Setup& setup, const Block& block, std::int64_t word, const WordPlaces& places, int n,
                         int information) {
  const auto each = static_cast<int>(blockDim.x), first = static_cast<int>(threadIdx.x);
  for (int i = first; i < information; i += each) block.job.bits[word * information + i] = 0;
  for (int i = first; block.job.llr_out && i < n; i += each) block.job.llr_out[word * n + i] = 0;
  if (block.job.is_soft()) put_rest(setup, block.job, places);
  if (first > 0) return;
  block.failed[word] = kNoWord;
  if (block.job.failed) block.job.failed[word] = 0;
  if (block.job.iterations) block.job.iterations[word] = 0;
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
  const WordPlaces places = setup.places_of(word, Thread::kN, block.job.sent);
  for (int n = i; places.is_there && n < Thread::kN; n += Thread::kLift)
    posterior[n] = usable_llr(llr_at(setup, block.job.llr, places.at(n)));
  __syncthreads();
  if (word >= words) return;
  if (!places.is_there) return put_none(setup, block, word, places, Thread::kN, Thread::kK);

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
  good = __syncthreads_and(known) && good;
  if (block.job.is_soft())
    put_soft(setup, block.job, word, places, Thread::kN, [&](int turn, int&) { return posterior[turn]; });
  if (i > 0) return;
  block.failed[word] = !good;
  if (block.job.failed) block.job.failed[word] = !good;
  if (block.job.iterations) block.job.iterations[word] = made;
}

/// A code for the kernel below.
struct Table {
  const std::uint32_t* edges;  // as in EdgeTable
  const std::uint32_t* first;
  const std::uint32_t* crc_weights;  // [k], or null
  SentBits sent;
  int lift;
  int rows;
  int bits;  // of all columns
  int k;
  int information;  // k without the CRC
};

/// Any code: one thread block per word, one thread per row of a block row. Posteriors and edges are in shared memory,
/// messages in local memory.
__global__ void __launch_bounds__(kMostLift) decode_any_words(const Setup setup, const Block block, const Table table) {
  extern __shared__ float posterior[];  // [bits], then the edges
  __shared__ std::int64_t words;
  __shared__ std::uint32_t crc;
  __shared__ std::uint32_t first[kMostRows + 1];
  auto* const edges = reinterpret_cast<std::uint32_t*>(posterior + table.bits);
  const auto i = static_cast<int>(threadIdx.x);
  const std::int64_t word = blockIdx.x;
  if (i == 0) words = *block.items * setup.words;
  for (int r = i; r <= table.rows; r += table.lift) first[r] = table.first[r];
  const WordPlaces places = setup.places_of(word, table.sent.count, block.job.sent);
  const auto llr = [&](int n) { return setup.turned(llr_at(setup, block.job.llr, places.at(n)), n); };
  for (int p = i; places.is_there && p < table.bits; p += table.lift) posterior[p] = received(table.sent, p, llr);
  __syncthreads();
  if (word >= words) return;
  if (!places.is_there) return put_none(setup, block, word, places, table.sent.count, table.information);
  for (int e = i; e < static_cast<int>(first[table.rows]); e += table.lift) edges[e] = table.edges[e];
  __syncthreads();

  const TableThread thread{table.lift, i};
  RowMessages messages[kMostRows];
  const auto right = [&] {
    if (table.crc_weights == nullptr) {
      bool hold = true;
      for (int r = 0; r < table.rows; ++r)
        hold = thread.holds(edges + first[r], first[r + 1] - first[r], posterior) && hold;
      return __syncthreads_and(hold) != 0;
    }
    if (i == 0) crc = 0;
    __syncthreads();
    std::uint32_t sum = 0;
    for (int n = i; n < table.k; n += table.lift) sum ^= posterior[n] < 0 ? __ldg(table.crc_weights + n) : 0;
    atomicXor(&crc, sum);
    __syncthreads();
    const bool hold = crc == 0;
    __syncthreads();  // before the next round clears it
    return hold;
  };
  bool good = false;
  int made = 0;
  while (made < setup.iterations && !good) {
    for (int r = 0; r < table.rows; ++r) {
      thread.update(edges + first[r], first[r + 1] - first[r], setup.scale, posterior, messages[r]);
      __syncthreads();
    }
    ++made;
    if (setup.early_stop || made == setup.iterations) good = right();
  }

  bool known = true;
  for (int n = i; n < table.k; n += table.lift) {
    if (n < table.information) block.job.bits[word * table.information + n] = posterior[n] < 0;
    known = known && posterior[n] != 0;
  }
  good = __syncthreads_and(known) && good;
  if (block.job.is_soft())
    put_soft(setup, block.job, word, places, table.sent.count, [&](int turn, int& place) {
      place = table.sent.place_of(turn);
      return posterior[table.sent.position_of(turn)];
    });
  if (i > 0) return;
  block.failed[word] = !good;
  if (block.job.failed) block.job.failed[word] = !good;
  if (block.job.iterations) block.job.iterations[word] = made;
}

__global__ void __launch_bounds__(kTallyThreads) count_words(const Setup setup, const Block block) {
  __shared__ int failed, missing;
  __shared__ std::int32_t items;
  if (threadIdx.x == 0) {
    failed = missing = 0;
    items = *block.items;
  }
  __syncthreads();
  const std::int64_t words = items * setup.words;
  int mine = 0, none = 0;
  for (std::int64_t w = threadIdx.x; w < words; w += kTallyThreads) {
    mine += block.failed[w] == 1;
    none += block.failed[w] == kNoWord;
  }
  atomicAdd(&failed, mine);
  atomicAdd(&missing, none);
  __syncthreads();
  if (threadIdx.x > 0) return;
  block.events[kWords] = words - missing;
  block.events[kFailed] = failed;
  for (std::int32_t* const count : block.counts) *count = items;
  *block.counts[kTally] = 1;
}

using Kernel = void (*)(Setup, Block);
/// Null for a code that has no kernel of its own, and for words that are framed.
template <int... kCode>
Kernel kernel_for(const Setup& setup, const WordCode& words, std::integer_sequence<int, kCode...>) {
  constexpr Kernel kernels[] = {decode_words<kCode>...};
  const auto codes = std::span(kLdpcCodes);
  const auto at = std::ranges::find(codes, words.code.name, &LdpcCode::name);
  const bool is_framed = setup.marker > 0 || setup.is_randomized;
  return words.is_plain() && !is_framed && at != codes.end() ? kernels[at - codes.begin()] : nullptr;
}

/// Constants of a code without a kernel of its own.
class AnyCode {
 public:
  explicit AnyCode(const WordCode& words) : AnyCode(words, EdgeTable(words.code)) {}

  unsigned shared_bytes() const noexcept {
    return static_cast<unsigned>(table_.bits * sizeof(float) + edges_.size() * sizeof(std::uint32_t));
  }
  const Table& table() const noexcept { return table_; }

 private:
  AnyCode(const WordCode& words, const EdgeTable& table)
      : edges_(std::span(table.edges)),
        first_(std::span(table.first)),
        crc_weights_(std::span<const std::uint32_t>(crc_weights(words.crc, words.k))),
        table_{.edges = edges_.data(),
               .first = first_.data(),
               .crc_weights = crc_weights_.data(),
               .sent = words.sent,
               .lift = words.code.lift,
               .rows = words.code.rows,
               .bits = words.code.bits(),
               .k = words.k,
               .information = words.information()} {
    if (gpu::allow_shared(decode_any_words, "loading ldpc_decoder") < shared_bytes())
      throw SetupError(
          "ldpc_decoder: the GPU has too little shared memory for words of this code; use a shorter one, or set "
          "`backend: cpu`");
  }

  gpu::DeviceArray<std::uint32_t> edges_, first_, crc_weights_;
  Table table_;
};

class Run final : public StageRun {
 public:
  Run(const Setup& setup, const WordCode& words)
      : setup_(setup),
        lift_(static_cast<unsigned>(words.code.lift)),
        kernel_(kernel_for(setup, words, std::make_integer_sequence<int, std::size(kLdpcCodes)>())) {
    gpu::load_kernels("loading ldpc_decoder", count_words);
    if (kernel_ == nullptr)
      any_.emplace(words);
    else
      gpu::load_kernels("loading ldpc_decoder", kernel_);
  }

  std::size_t device_scratch_bytes() const noexcept override { return static_cast<std::size_t>(setup_.most); }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const auto stream = gpu::stream_of(view);
    Block block{.job = job_of(io),
                .items = io.in[0].count,
                .failed = reinterpret_cast<std::uint8_t*>(io.device_scratch),
                .events = reinterpret_cast<std::int64_t*>(io.out[kTally].data),
                .counts = {}};
    for (std::size_t o = 0; o < io.out.size(); ++o) block.counts[o] = io.out[o].count;
    const auto words = static_cast<unsigned>(io.in[0].length * setup_.words);
    if (words > 0) {
      if (any_)
        decode_any_words<<<words, lift_, any_->shared_bytes(), stream>>>(setup_, block, any_->table());
      else
        kernel_<<<words, lift_, 0, stream>>>(setup_, block);
    }
    count_words<<<1, kTallyThreads, 0, stream>>>(setup_, block);
  }

 private:
  Setup setup_;
  unsigned lift_;
  Kernel kernel_;
  std::optional<AnyCode> any_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::ldpc_decoder
