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
  const LdpcEncoder::Step* steps;
  const LdpcEncoder::Term* terms;
  int step_count;
  int lift;
  const std::uint32_t* crc_weights;  // [k]: a bit's contribution
  int crc_bits;
  int information;
  int known;  // information columns' bits, with CRC and filler
  SentBits sent;
  const std::uint8_t* marker;  // [markers]
  int markers;
  bool is_randomized;
  WordSequence sequence;
  std::int64_t of_item;
  const std::uint8_t* bits;
  std::uint8_t* words;
  const std::int32_t* items;
  std::int32_t* count;
};

/// The CRC of the word's information bits, by all threads.
__device__ void append_crc(const Job& job, std::uint8_t* word, int i) {
  __shared__ std::uint32_t crc;
  if (i == 0) crc = 0;
  __syncthreads();
  std::uint32_t sum = 0;
  for (int b = i; b < job.information; b += job.lift) sum ^= word[b] != 0 ? __ldg(job.crc_weights + b) : 0;
  atomicXor(&crc, sum);
  __syncthreads();
  for (int b = i; b < job.crc_bits; b += job.lift)
    word[job.information + b] = static_cast<std::uint8_t>(crc >> (job.crc_bits - 1 - b) & 1);
  __syncthreads();
}

/// One thread block per word; each thread has one element of each block.
__global__ void encode_words(const Job job) {
  extern __shared__ std::uint8_t word[];  // [blocks][lift]
  __shared__ std::int64_t words;
  const auto i = static_cast<int>(threadIdx.x);
  if (i == 0) {
    const std::int32_t items = *job.items;
    words = items * job.of_item;
    if (blockIdx.x == 0) *job.count = items;
  }
  __syncthreads();
  if (blockIdx.x >= words) return;
  for (int b = i; b < job.known; b += job.lift)
    word[b] = b < job.information ? job.bits[blockIdx.x * static_cast<std::int64_t>(job.information) + b] & 1 : 0;
  __syncthreads();
  if (job.crc_bits > 0) append_crc(job, word, i);
  for (int s = 0; s < job.step_count; ++s) {
    const LdpcEncoder::Step step = job.steps[s];
    std::uint8_t sum = 0;
    for (int t = step.first; t < step.end; ++t) {
      const LdpcEncoder::Term term = job.terms[t];
      const int at = i + term.shift;
      sum ^= word[term.column * job.lift + (at < job.lift ? at : at - job.lift)];
    }
    word[step.column * job.lift + i] = sum;
    __syncthreads();
  }
  std::uint8_t* const frame = job.words + blockIdx.x * static_cast<std::int64_t>(job.markers + job.sent.count);
  for (int b = i; b < job.markers; b += job.lift) frame[b] = job.marker[b];
  for (int turn = i; turn < job.sent.count; turn += job.lift) {
    const int place = job.sent.place_of(turn);
    const bool turned = job.is_randomized && job.sequence.at(place);
    frame[job.markers + place] = word[job.sent.position_of(turn)] ^ static_cast<std::uint8_t>(turned);
  }
}

class Run final : public StageRun {
 public:
  Run(const WordEncoder& encoder, const WordFrame& frame, std::int64_t words_of_item)
      : code_(encoder.code()),
        blocks_(encoder.ldpc().blocks()),
        words_of_item_(words_of_item),
        is_randomized_(frame.is_randomized),
        markers_(static_cast<int>(frame.marker.size())),
        steps_(encoder.ldpc().steps()),
        terms_(encoder.ldpc().terms()),
        crc_weights_(std::span<const std::uint32_t>(crc_weights(code_.crc, code_.k))),
        marker_(std::span(frame.marker)) {
    gpu::load_kernels("loading ldpc_encoder", encode_words);
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const int lift = code_.code.lift;
    const Job job{.steps = steps_.data(),
                  .terms = terms_.data(),
                  .step_count = static_cast<int>(steps_.size()),
                  .lift = lift,
                  .crc_weights = crc_weights_.data(),
                  .crc_bits = bits_of(code_.crc),
                  .information = code_.information(),
                  .known = code_.code.k(),
                  .sent = code_.sent,
                  .marker = marker_.data(),
                  .markers = markers_,
                  .is_randomized = is_randomized_,
                  .sequence = WordSequence(),
                  .of_item = words_of_item_,
                  .bits = reinterpret_cast<const std::uint8_t*>(io.in[0].data),
                  .words = reinterpret_cast<std::uint8_t*>(io.out[0].data),
                  .items = io.in[0].count,
                  .count = io.out[0].count};
    const auto groups = static_cast<unsigned>(std::max<std::int64_t>(io.in[0].length * words_of_item_, 1));
    encode_words<<<groups, lift, blocks_ * lift, gpu::stream_of(view)>>>(job);
  }

 private:
  WordCode code_;
  int blocks_;
  std::int64_t words_of_item_;
  bool is_randomized_;
  int markers_;
  gpu::DeviceArray<LdpcEncoder::Step> steps_;
  gpu::DeviceArray<LdpcEncoder::Term> terms_;
  gpu::DeviceArray<std::uint32_t> crc_weights_;
  gpu::DeviceArray<std::uint8_t> marker_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::ldpc_encoder
