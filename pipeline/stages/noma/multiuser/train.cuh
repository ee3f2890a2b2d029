// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stages/noma/multiuser/adapt.cuh"
#include "pipeline/stages/noma/multiuser/finish.cuh"
#include "pipeline/stages/noma/multiuser/gram.cuh"
#include "pipeline/stages/noma/multiuser/prepare.cuh"
#include "pipeline/stages/noma/multiuser/solve.cuh"
#include "signal/filters/scratch.hpp"

/// Training, all users of a frame at once.
namespace iqd::noma {

class Train {
 public:
  /// Throws SetupError.
  explicit Train(const Method& method)
      : weight_(std::span(method.weight)),
        share_(std::span(method.share)),
        adapt_(training::adapt_kernel(method.window)) {
    set_numbers(method);
    using namespace training;
    gpu::allow_shared(solve_start, solve_bytes(numbers_), "shared memory for this number of antennas");
    gpu::load_kernels("loading apsm_detector", begin_block, tell_events, inspect_pilots, scale_pilots, sum_products,
                      fill_gram, estimate_first, estimate_stretch, adapt_.run, estimate_last, sum_norms,
                      training::finish_users, hand_out_model);
  }

  std::size_t scratch_bytes() const noexcept { return training::Task{numbers_, Scratch(nullptr)}.scratch.bytes(); }

  /// A block and its memory.
  class Block {
   public:
    /// `carry` is used only if the method is online.
    Block(const Train& train, const Job& job, std::int64_t most, bool fresh, std::byte* carry, std::byte* scratch)
        : train_(train), task_{train.numbers_, Scratch(scratch)} {
      if (task_.online) task_.kept = {task_.users, task_.antennas, task_.old_places, Scratch(carry)};
      task_.job = job;
      task_.most = static_cast<int>(most);
      task_.fresh = fresh;
      if (!job.model) task_.tiles = 0;
    }

    /// Call first; afterwards the number of frames is known.
    void begin(cudaStream_t stream) const noexcept { training::begin_block<<<1, 1, 0, stream>>>(task_); }
    /// Enqueues training; the model is complete when the stream has passed this point. Does nothing if `frame` does not
    /// exist.
    void enqueue(int frame, cudaStream_t stream) noexcept {
      task_.frame = frame;
      train_.enqueue(task_, stream);
    }
    /// Call last, after detection.
    void end(cudaStream_t stream) const noexcept {
      if (task_.job.events) training::tell_events<<<1, 1, 0, stream>>>(task_);
    }

    Model model() const noexcept {
      return {.x = reinterpret_cast<cf32*>(task_.x),
              .norm = task_.norm,
              .gamma = reinterpret_cast<cf32*>(task_.gamma),
              .c = reinterpret_cast<cf32*>(task_.c),
              .noise = task_.noise,
              .unit = task_.unit,
              .scale = task_.scale};
    }
    const std::int32_t* frames() const noexcept { return &task_.state->frames; }
    std::int64_t* erased() const noexcept { return &task_.state->erased; }

   private:
    const Train& train_;
    training::Task task_;
  };

 private:
  void set_numbers(const Method& m) {
    numbers_.antennas = m.antennas;
    numbers_.users = m.users;
    numbers_.pilots = static_cast<int>(m.pilots);
    numbers_.places = static_cast<int>(m.dictionary);
    numbers_.old_places = static_cast<int>(m.old_places());
    numbers_.first_kernel = static_cast<int>(m.pilots - m.kernels);
    numbers_.window = m.window;
    numbers_.passes = m.passes;
    numbers_.slices = std::clamp(numbers_.pilots / 24, 1, 32);
    numbers_.start = m.start;
    numbers_.online = m.online;
    numbers_.agc = m.agc;
    numbers_.used_count = m.used_count;
    numbers_.epsilon = m.epsilon;
    numbers_.linear = m.linear;
    numbers_.gaussian = m.gaussian;
    numbers_.exponent = std::min(2.8853900817f * m.exponent, 1e30f);  // times 2 log2(e)
    numbers_.weight = weight_.data();
    numbers_.share = share_.data();
    for (int a = 0; a < m.antennas; ++a)
      numbers_.used |= static_cast<unsigned long long>(m.used[static_cast<std::size_t>(a)]) << a;
    const int side = (numbers_.places + training::kTile - 1) / training::kTile;
    numbers_.tiles = m.passes > 0 ? side * (side + 1) / 2 : 0;
  }

  void enqueue(const training::Task& t, cudaStream_t stream) const noexcept {
    using namespace training;
    const auto users = static_cast<unsigned>(t.users);
    const unsigned tiles = gpu::groups_of(t.pilots, kTile), place_tiles = gpu::groups_of(t.places, kTile);
    const dim3 estimates(gpu::groups_of(t.pilots, kTargets), gpu::groups_of(t.users, kColumns));
    inspect_pilots<<<gpu::groups_of(t.pilots, kPrepareWarps), kPrepareThreads, 0, stream>>>(t);
    scale_pilots<<<gpu::groups_of(t.places, kPrepareWarps), kPrepareThreads, 0, stream>>>(t);
    if (t.start == Start::lls) {
      const dim3 parts(static_cast<unsigned>(t.slices), gpu::groups_of(t.antennas * t.columns(), kProductThreads));
      sum_products<<<parts, kProductThreads, 0, stream>>>(t);
    }
    solve_start<<<1, kSolveThreads, solve_bytes(t), stream>>>(t);
    if (t.passes > 0) fill_gram<<<dim3(tiles, place_tiles), kTileThreads, 0, stream>>>(t);
    estimate_first<<<estimates, kEstimateThreads, 0, stream>>>(t);
    adapt(t, stream);
    estimate_last<<<estimates, kEstimateThreads, 0, stream>>>(t);
    if (t.tiles > 0) sum_norms<<<dim3(place_tiles, place_tiles), kTileThreads, 0, stream>>>(t);
    finish_users<<<users, kFinishThreads, 0, stream>>>(t);
    hand_out_model<<<users, kFinishThreads, 0, stream>>>(t);
  }

  void adapt(training::Task t, cudaStream_t stream) const noexcept {
    using namespace training;
    const dim3 estimates(kStretch / kTargets, gpu::groups_of(t.users, kColumns));
    for (t.pass = 0; t.pass < t.passes; ++t.pass)
      for (t.stretch = 0; t.stretch < t.pilots; t.stretch += kStretch) {
        estimate_stretch<<<estimates, kEstimateThreads, 0, stream>>>(t);
        adapt_.run<<<static_cast<unsigned>(t.users), static_cast<unsigned>(adapt_.threads), 0, stream>>>(t);
      }
  }

  gpu::DeviceArray<float> weight_;
  gpu::DeviceArray<float> share_;
  training::AdaptKernel adapt_;
  training::Numbers numbers_{};
};

}  // namespace iqd::noma
