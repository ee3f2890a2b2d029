// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/engine/block_work.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

class Planner;  // pipeline/plan/planner.hpp

/// An input array of a stage: rows of `length` positions.
struct StageInput {
  PortShape shape;
  std::int64_t length = 0;
  std::vector<std::byte> data;

  std::int64_t row_bytes() const noexcept { return length * shape.item_bytes(); }
};

/// A whole output: the blocks' results, one after the other.
struct StageOutput {
  std::string name;
  PortShape shape;
  std::int64_t length = 0;  // positions; messages if there is one per block
  std::vector<std::vector<std::byte>> rows;
  std::string port{};  // stage.name

  std::vector<std::byte> joined() const;
};

/// A stage behind others; `keys` is YAML. Without `from` it has one input, which reads the first output of the stage
/// before it; with it, inputs are connected as in a pipeline file.
struct ChainedStage {
  const StageEntry* entry = nullptr;
  std::string keys;
  std::optional<Connections> from{};
  std::string name{};  // empty: the entry's, and a number
};

/// Runs one stage, or a chain that begins with it, on arrays and without a daemon. `iqd exec`, `iqd bench` and tests
/// use it.
class StageRunner {
 public:
  struct Options {
    std::span<const StageEntry> stages = all_stages();
    std::optional<MappedLimits> mapped{};  // instead of the backend's own
    bool resident = false;                 // inputs are in the device's own memory
    bool timed = false;
    std::vector<std::string> outputs{};  // wanted outputs of the first stage; empty: all
    /// Stages after it. The results are then the outputs of the last stage, and those of the others that no stage
    /// reads.
    std::vector<ChainedStage> behind{};
    std::vector<std::string> ports{};  // wanted ports of any stage, as in a pipeline file, in place of those
    bool fuse = true;                  // fuse neighbouring element-wise stages
  };
  /// `keys` is YAML. `inputs` are in the order of the entry's. The first that is a stream is cut into blocks, and the
  /// others along with it. Inputs of an element-wise stage are cut to the shortest; for other stages an input may have
  /// several positions for each of the first. Problems go to `problems`, and then nothing may be run.
  StageRunner(const StageEntry& entry, const std::string& keys, std::vector<StageInput> inputs, std::int64_t block,
              const std::string& backend, Problems& problems, const Options& options);
  StageRunner(const StageEntry& entry, const std::string& keys, std::vector<StageInput> inputs, std::int64_t block,
              const std::string& backend, Problems& problems)
      : StageRunner(entry, keys, std::move(inputs), block, backend, problems, Options()) {}
  ~StageRunner();

  /// The number of samples of the stream that is cut.
  std::int64_t length() const noexcept { return length_; }
  const Plan& plan() const noexcept { return plan_; }
  const BlockWork& work() const noexcept;
  Backend& backend() noexcept { return *backend_; }
  /// Captures a block with this layout so that blocks like it are replayed, if the backend can.
  void rehearse(SampleIndex first, std::int64_t samples);
  std::size_t graphs() const noexcept { return queue_ ? queue_->rehearsed() : 0; }

  /// Sets up the block that starts at `first`.
  void set_block(SampleIndex first, std::int64_t samples);
  /// The same, with the block's other properties.
  void set_block(SampleBlock block);
  /// Computes the block that was set up last, possibly again. Throws SetupError if a device fails, or a stage could not
  /// compute the block.
  void run_block() {
    start_block();
    finish_block();
  }
  /// The two halves of `run_block`; between them a device computes.
  void start_block();
  void finish_block();
  /// How long the stages of the last block took, without transfers, by the clock of their backend. Needs `timed`.
  std::int64_t step_ns() const noexcept;
  /// Runs the whole array in blocks.
  std::vector<StageOutput> run();

 private:
  class TimedWork;
  struct ReadStage;
  static std::vector<ReadStage> read_chain(const ChainedStage& first, std::span<const ChainedStage> behind,
                                           Problems& problems);
  bool share_items(const StageEntry& entry, std::int64_t block, const Section& section);
  bool fits_memory(const Section& section) const;
  /// Publishes outputs that no later stage reads; of the first stage, only the wanted ones.
  bool add_chain(Planner& planner, std::vector<ReadStage>& chain, const Options& options);
  void set_up(Side side, const Options& options);

  std::vector<StageInput> inputs_;
  std::int64_t length_ = 0;
  std::shared_ptr<Backend> host_;
  std::shared_ptr<Backend> backend_;
  Plan plan_;
  std::vector<Buffer> shared_inputs_;  // where a device can read them
  std::unique_ptr<Carries> carries_;
  std::unique_ptr<TimedWork> work_;
  std::array<Buffer, kSides> arenas_;
  std::unique_ptr<Queue> queue_;
  LaneMemory lane_;
  std::uint64_t seq_ = 0;
  std::vector<SourceWindow> windows_;
};

}  // namespace iqd
