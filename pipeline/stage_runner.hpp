// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/array_run.hpp"

namespace iqd {

/// A whole output: the blocks' results, one after the other.
struct StageOutput {
  std::string name;
  PortShape shape;
  std::int64_t length = 0;  // positions; messages if there is one per block
  std::vector<std::vector<std::byte>> rows;
  std::string port{};  // stage.name

  std::vector<std::byte> joined() const;
};

/// Runs one stage, or a chain that begins with it, on arrays and without a daemon. `iqd exec`, `iqd bench` and tests
/// use it.
class StageRunner {
 public:
  using Options = ArrayPlan::Options;
  /// As for ArrayPlan. `inputs` have their data. `entry` must live longer.
  StageRunner(const StageEntry& entry, const std::string& keys, const std::vector<StageInput>& inputs,
              std::int64_t block, const std::string& backend, Problems& problems, const Options& options);
  StageRunner(const StageEntry& entry, const std::string& keys, const std::vector<StageInput>& inputs,
              std::int64_t block, const std::string& backend, Problems& problems)
      : StageRunner(entry, keys, inputs, block, backend, problems, Options()) {}
  StageRunner(StageEntry&& entry, const std::string& keys, const std::vector<StageInput>& inputs, std::int64_t block,
              const std::string& backend, Problems& problems, const Options& options) = delete;
  StageRunner(StageEntry&& entry, const std::string& keys, const std::vector<StageInput>& inputs, std::int64_t block,
              const std::string& backend, Problems& problems) = delete;

  /// The number of samples of the stream that is cut.
  std::int64_t length() const noexcept { return plan_->length(); }
  const Plan& plan() const noexcept { return plan_->plan(); }
  const BlockWork& work() const noexcept { return run_->work(); }
  Backend& backend() noexcept { return plan_->backend(); }
  /// Captures a block with this layout so that blocks like it are replayed, if the backend can.
  void rehearse(SampleIndex first, std::int64_t samples);
  std::size_t graphs() const noexcept { return lane_->queue() ? lane_->queue()->rehearsed() : 0; }

  /// Sets up the block that starts at `first`.
  void set_block(SampleIndex first, std::int64_t samples);
  /// The same, with the block's other properties.
  void set_block(const SampleBlock& block) { run_->set_block(block, inputs_, *lane_); }
  /// Computes the block that was set up last, possibly again. Throws SetupError if a device fails, or a stage could not
  /// compute the block.
  void run_block() { run_->run_block(); }
  /// The two halves of `run_block`; between them a device computes.
  void start_block() { run_->start_block(); }
  void finish_block() { run_->finish_block(); }
  /// How long the stages of the last block took, without transfers, by the clock of their backend. Needs `timed`.
  std::int64_t step_ns() const noexcept { return run_->step_ns(); }
  /// Runs the whole array in blocks.
  std::vector<StageOutput> run();

 private:
  void share(const std::vector<StageInput>& inputs);

  std::unique_ptr<ArrayPlan> plan_;
  std::vector<Buffer> shared_inputs_;  // where a device can read them
  std::vector<ArrayMemory> inputs_;
  std::unique_ptr<ArrayRun> run_;
  std::unique_ptr<ArrayLane> lane_;
};

}  // namespace iqd
