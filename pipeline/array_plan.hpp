// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/backend/find_backend.hpp"
#include "pipeline/plan/plan.hpp"

namespace iqd {

class Planner;  // pipeline/plan/planner.hpp

/// An input array of a stage: rows of `length` positions.
struct StageInput {
  PortShape shape;
  std::int64_t length = 0;
  std::vector<std::byte> data;
  std::string name{};  // of the stage's input; empty: the one in its place

  /// The stage's input that this is for, as number `place` of those given.
  const InputSpec& spec(const StageEntry& entry, std::size_t place) const;
  std::int64_t row_bytes() const noexcept { return length * shape.item_bytes(); }
};

/// A stage behind others; `keys` is YAML. Without `from` it has one input, which reads the first output of the stage
/// before it; with it, inputs are connected as in a pipeline file.
struct ChainedStage {
  const StageEntry* entry = nullptr;
  std::string keys;
  std::optional<Connections> from{};
  std::string name{};  // empty: the entry's, and a number
};

/// The connections of a stage for which none are written: each input takes the output of its name of a stage before it.
/// Nothing: it has one input, which no output is named after, and reads the stage before it.
std::optional<Connections> usual_connections(const StageEntry& entry, std::span<const StageEntry* const> before);

/// One stage, or a chain that begins with it, planned for arrays of one layout. Any number of runs may use it at once.
class ArrayPlan {
 public:
  struct Options {
    std::span<const StageEntry> stages = all_stages();
    std::optional<MappedLimits> mapped{};  // instead of the backend's own
    bool resident = false;                 // inputs are in the device's own memory
    bool timed = false;
    Wait wait = Wait::spin;
    std::vector<std::string> outputs{};  // wanted outputs of the first stage; empty: all
    /// Stages after it. The results are then the outputs of the last stage, and those of the others that no stage
    /// reads.
    std::vector<ChainedStage> behind{};
    std::vector<std::string> ports{};  // wanted ports of any stage, as in a pipeline file, in place of those
    bool fuse = true;                  // fuse neighbouring element-wise stages
    bool results_stay = false;         // a device's results stay in its own memory
  };
  /// `first.keys` is YAML. `inputs` are in the order of the entry's; their data is not read. The first that is a stream
  /// is cut into blocks of `block` (0: one block), and the others along with it. Of inputs of an element-wise stage,
  /// only the length of the shortest is used; for other stages an input may have several positions for each of the
  /// first. Problems go to `problems`, and then nothing may be run.
  ArrayPlan(const ChainedStage& first, std::vector<StageInput> inputs, std::int64_t block, const std::string& backend,
            Problems& problems, const Options& options);

  /// Reads the keys of all stages, and nothing else.
  static void check_keys(const ChainedStage& first, std::span<const ChainedStage> behind, Problems& problems);

  const Plan& plan() const noexcept { return plan_; }
  Backend& host() const noexcept { return *host_; }
  Backend& backend() const noexcept { return *backend_; }
  /// The backend, if it is a device.
  std::span<const std::shared_ptr<Backend>> devices() const noexcept {
    return {&backend_, on_device(side()) ? std::size_t{1} : std::size_t{0}};
  }
  Side side() const noexcept { return backend_->kind() == BackendKind::cpu ? Side::host : Side::device; }
  const Options& options() const noexcept { return options_; }
  /// The number of samples of the stream that is cut.
  std::int64_t length() const noexcept { return length_; }
  std::size_t inputs() const noexcept { return inputs_.size(); }
  /// The positions of an input that a block from `first` to `end` reads, of those in [begin, stop).
  Span span_of(std::size_t input, SampleIndex first, SampleIndex end, Positions there) const noexcept;
  /// All positions of an input that are used.
  Positions whole(std::size_t input) const noexcept { return {0, inputs_[input].length}; }
  std::int64_t rows(std::size_t input) const noexcept { return inputs_[input].shape.row_count(); }
  /// Bytes of a position of an input.
  std::int64_t item_bytes(std::size_t input) const noexcept { return inputs_[input].shape.item_bytes(); }

 private:
  struct ReadStage;
  static std::vector<ReadStage> read_chain(const ChainedStage& first, std::span<const ChainedStage> behind,
                                           Problems& problems);
  void use_shortest();
  bool share_items(const StageEntry& entry, std::int64_t block, const Section& section);
  bool fits_memory(const Section& section) const;
  /// Publishes outputs that no later stage reads; of the first stage, only the wanted ones.
  bool add_chain(Planner& planner, std::vector<ReadStage>& chain);

  std::vector<StageInput> inputs_;
  Options options_;
  std::int64_t length_ = 0;
  std::shared_ptr<Backend> host_;
  std::shared_ptr<Backend> backend_;
  Plan plan_;
};

}  // namespace iqd
