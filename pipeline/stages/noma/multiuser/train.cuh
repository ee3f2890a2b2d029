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
    Scratch count(nullptr);
    training::Task task = task_;
    place(task, count);
    scratch_bytes_ = count.bytes();
    gpu::check(cudaFuncSetAttribute(training::solve_start, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(training::solve_bytes(task_))),
               "shared memory for this number of antennas");
    using Kernel = void (*)(training::Task);
    cudaFuncAttributes loaded;  // the query loads the code before samples flow
    for (const Kernel kernel :
         {Kernel(training::begin_block), Kernel(training::tell_events), Kernel(training::inspect_pilots),
          Kernel(training::scale_pilots), Kernel(training::sum_products), Kernel(training::fill_gram),
          Kernel(training::estimate_first), Kernel(training::estimate_stretch), adapt_.run,
          Kernel(training::estimate_last), Kernel(training::sum_norms), Kernel(training::finish_users),
          Kernel(training::hand_out_model)})
      gpu::check(cudaFuncGetAttributes(&loaded, kernel), "loading apsm_detector");
  }

  std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }

  /// A block and its memory.
  class Block {
   public:
    /// `carry` is used only if the method is online.
    Block(const Train& train, const Job& job, std::int64_t most, bool fresh, std::byte* carry, std::byte* scratch)
        : train_(train), task_(train.task_) {
      Scratch memory(scratch);
      train.place(task_, memory);
      Scratch kept(carry);
      if (task_.online) train.place(task_.kept, kept);
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
    task_.antennas = m.antennas;
    task_.users = m.users;
    task_.pilots = static_cast<int>(m.pilots);
    task_.places = static_cast<int>(m.dictionary);
    task_.old_places = static_cast<int>(m.old_places());
    task_.first_kernel = static_cast<int>(m.pilots - m.kernels);
    task_.window = m.window;
    task_.passes = m.passes;
    task_.slices = std::clamp(task_.pilots / 24, 1, 32);
    task_.start = m.start;
    task_.online = m.online;
    task_.agc = m.agc;
    task_.used_count = m.used_count;
    task_.epsilon = m.epsilon;
    task_.linear = m.linear;
    task_.gaussian = m.gaussian;
    task_.exponent = std::min(2.8853900817f * m.exponent, 1e30f);  // times 2 log2(e)
    task_.weight = weight_.data();
    task_.share = share_.data();
    for (int a = 0; a < m.antennas; ++a)
      task_.used |= static_cast<unsigned long long>(m.used[static_cast<std::size_t>(a)]) << a;
    const int side = (task_.places + training::kTile - 1) / training::kTile;
    task_.tiles = m.passes > 0 ? side * (side + 1) / 2 : 0;
  }

  static void place(training::Task& t, Scratch& scratch) {
    const std::int64_t users = t.users, antennas = t.antennas, pilots = t.pilots, places = t.places;
    t.state = scratch.take<training::State>(1);
    t.x = scratch.take<float2>(places * antennas);
    t.norm = scratch.take<float>(places);
    t.gamma = scratch.take<float2>(users * places);
    t.c = scratch.take<float2>(users * antennas);
    t.unit = scratch.take<float>(users);
    t.noise = scratch.take<float>(users);
    t.scale = scratch.take<float>(1);
    t.power = scratch.take<double>(pilots);
    t.b = scratch.take<float2>(users * pilots);
    t.side = scratch.take<float2>(users * antennas);
    t.height = scratch.take<float>(pilots);
    t.inverse = scratch.take<float>(pilots);
    t.products = scratch.take<double2>(t.start == Start::lls ? t.slices * antennas * t.columns() : 0);
    t.gram = scratch.take<float4>(t.passes > 0 ? places * pilots : 0);
    t.base = scratch.take<float2>(users * pilots);
    t.entering = scratch.take<float2>(users * pilots);
    t.handed_on = scratch.take<float2>(users * kMostWindow);
    t.factor = scratch.take<float2>(users * pilots);
    t.errors = scratch.take<float2>(users * pilots);
    t.found = scratch.take<double>(users * 2);
    t.norms = scratch.take<double>(users * t.tiles);
  }
  void place(training::Kept& kept, Scratch& carry) const {
    const std::int64_t users = task_.users, antennas = task_.antennas, places = task_.old_places;
    kept.present = carry.take<bool>(1);
    kept.x = carry.take<float2>(places * antennas);
    kept.gamma = carry.take<float2>(users * places);
    kept.c = carry.take<float2>(users * antennas);
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
  training::Task task_{};
  std::size_t scratch_bytes_ = 0;
};

}  // namespace iqd::noma
