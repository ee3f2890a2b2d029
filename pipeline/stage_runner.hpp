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

/// An array that a stage is given: rows of `length` positions.
struct StageInput {
  PortShape shape;
  std::int64_t length = 0;
  std::vector<std::byte> data;

  std::int64_t row_bytes() const noexcept { return length * shape.item_bytes(); }
};

/// What came out, whole: as the blocks gave it, one behind the other.
struct StageOutput {
  std::string name;
  PortShape shape;
  std::int64_t length = 0;  // positions; messages where there is one a block
  std::vector<std::vector<std::byte>> rows;

  std::vector<std::byte> joined() const;
};

/// A stage with one input that reads what the stage before it puts out first; `keys` is YAML.
struct ChainedStage {
  const StageEntry* entry = nullptr;
  std::string keys;
};

/// One stage by itself, or a chain that it begins, on arrays, without a daemon: what `iqd exec` and `iqd bench` do, and
/// the tests.
class StageRunner {
 public:
  struct Options {
    std::span<const StageEntry> stages = all_stages();
    std::optional<MappedLimits> mapped{};  // in place of the backend's own
    bool resident = false;                 // inputs lie in the device's own memory
    bool timed = false;
    std::vector<std::string> outputs{};  // of the stage, that are wanted; empty: all
    /// Stages behind it: then what comes out are the last one's outputs, and of those before what no stage reads.
    std::vector<ChainedStage> behind{};
    bool fuse = true;  // neighbours that work element by element become one
  };
  /// `keys` is YAML. `inputs` are in the order of the entry's; the first that is a stream is cut into blocks, and the
  /// others along with it: those of an ElementStage are taken as long as the shortest, of others one may have several
  /// positions for one of the first. What is wrong goes to `problems`, and then nothing may be run.
  StageRunner(const StageEntry& entry, const std::string& keys, std::vector<StageInput> inputs, std::int64_t block,
              const std::string& backend, Problems& problems, const Options& options);
  StageRunner(const StageEntry& entry, const std::string& keys, std::vector<StageInput> inputs, std::int64_t block,
              const std::string& backend, Problems& problems)
      : StageRunner(entry, keys, std::move(inputs), block, backend, problems, Options()) {}
  ~StageRunner();

  /// Samples of the stream that is cut.
  std::int64_t length() const noexcept { return length_; }
  const Plan& plan() const noexcept { return plan_; }
  const BlockWork& work() const noexcept;
  Backend& backend() noexcept { return *backend_; }
  /// Blocks that lie like this one are captured and then replayed, where the backend can.
  void rehearse(SampleIndex first, std::int64_t samples);
  std::size_t graphs() const noexcept { return queue_ ? queue_->rehearsed() : 0; }

  /// Sets up the block that starts at `first`.
  void set_block(SampleIndex first, std::int64_t samples);
  /// The same, with what else it says of itself.
  void set_block(SampleBlock block);
  /// Computes it, or what was set up last once more. Throws SetupError where a device fails.
  void run_block() {
    start_block();
    finish_block();
  }
  /// The two halves of it: between them a device is at work.
  void start_block();
  void finish_block();
  /// How long the stages took then, without transfers, by the clock of where they ran. With `timed`.
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
  /// Publishes what no stage behind reads; of the first, what is wanted of that.
  bool add_chain(Planner& planner, std::vector<ReadStage>& chain, const std::vector<std::string>& wanted);
  void set_up(Side side, const Options& options);

  std::vector<StageInput> inputs_;
  std::int64_t length_ = 0;
  std::shared_ptr<Backend> host_;
  std::shared_ptr<Backend> backend_;
  Plan plan_;
  std::vector<Buffer> shared_inputs_;  // where a device reads them
  std::unique_ptr<Carries> carries_;
  std::unique_ptr<TimedWork> work_;
  std::array<Buffer, kSides> arenas_;
  std::unique_ptr<Queue> queue_;
  LaneMemory lane_;
  std::uint64_t seq_ = 0;
  std::vector<SourceWindow> windows_;
};

}  // namespace iqd
