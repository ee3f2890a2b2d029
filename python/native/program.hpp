// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/array_run.hpp"

namespace iqd::native {

/// Stages in a row, with their keys.
struct ChainSpec {
  StageEntry first;  // with the inputs that its keys give it
  std::string first_keys;
  std::string first_name;
  std::string backend;
  ArrayPlan::Options options;
};

/// Things that are made when none is free, and kept for later, a few of them. Any thread.
template <class T> class Pool {
 public:
  template <class Make> std::unique_ptr<T> take(Make&& make) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<T> one = std::move(free_.back());
        free_.pop_back();
        return one;
      }
    }
    return make();
  }
  /// `bytes`: of each. Large ones are kept, too, but only one of them.
  void give(std::unique_ptr<T> one, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (free_.empty() || (free_.size() < kMost && (free_.size() + 1) * bytes <= kMostBytes))
      free_.push_back(std::move(one));
  }

 private:
  static constexpr std::size_t kMost = 8;
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

/// What a call needs while it computes.
struct CallLane {
  explicit CallLane(const ArrayPlan& plan) : lane(plan), staged(plan.inputs()), memory(plan.inputs()) {}
  ArrayLane lane;
  std::vector<Buffer> staged;  // of a device: inputs where it can read them
  std::vector<ArrayMemory> memory;
};

/// A chain that is planned for arrays of one layout, with memory for its runs. Any number of threads.
class Program {
 public:
  /// `device`: the inputs lie on this CUDA device, and the results stay there; nothing: they are the host's. Problems go
  /// to `problems`, and then it may not be used. Throws SetupError.
  Program(std::shared_ptr<const ChainSpec> chain, std::vector<StageInput> inputs, std::int64_t block,
          std::optional<int> device, Problems& problems);

  const ArrayPlan& plan() const noexcept { return plan_; }
  std::unique_ptr<ArrayRun> take_run() {
    return runs_.take([&] { return std::make_unique<ArrayRun>(plan_); });
  }
  std::unique_ptr<CallLane> take_lane() {
    return lanes_.take([&] { return std::make_unique<CallLane>(plan_); });
  }
  void give(std::unique_ptr<ArrayRun> run) { runs_.give(std::move(run), plan_.plan().slot_bytes); }
  void give(std::unique_ptr<CallLane> lane) { lanes_.give(std::move(lane), bytes() - plan_.plan().slot_bytes); }
  /// Of the memory of one call.
  std::size_t bytes() const noexcept {
    const Plan& plan = plan_.plan();
    return plan.slot_bytes + plan.arena_bytes[index_of(Side::host)] + plan.arena_bytes[index_of(Side::device)];
  }

 private:
  std::shared_ptr<const ChainSpec> chain_;
  ArrayPlan plan_;
  Pool<ArrayRun> runs_;
  Pool<CallLane> lanes_;
};

/// An input of a call.
struct CallInput {
  ArrayMemory memory;
  bool on_device = false;
  std::uintptr_t stream = 0;  // of the device, which has to be waited for
};

/// Holds the memory of results while an array refers to it.
class ResultMemory {
 public:
  explicit ResultMemory(std::shared_ptr<Program> program)
      : program_(std::move(program)), run_(program_->take_run()), lane_(program_->take_lane()) {}
  ~ResultMemory() {
    program_->give(std::move(run_));
    if (lane_) program_->give(std::move(lane_));
  }
  ResultMemory(const ResultMemory&) = delete;
  ResultMemory& operator=(const ResultMemory&) = delete;

  /// Computes a block. Throws SetupError if a device fails.
  void compute(SampleIndex first, std::int64_t samples, std::span<const CallInput> inputs);
  const Program& program() const noexcept { return *program_; }
  const ArrayRun& run() const noexcept { return *run_; }

 private:
  std::shared_ptr<Program> program_;
  std::unique_ptr<ArrayRun> run_;
  std::unique_ptr<CallLane> lane_;  // after the run only if results lie in it
};

}  // namespace iqd::native
