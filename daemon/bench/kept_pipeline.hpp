// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "daemon/bench/free_pipeline.hpp"
#include "daemon/command/commands.hpp"

namespace iqd {

/// How a pipeline of a file is measured; what is left out is the file's.
struct KeptSetup {
  std::string pipeline{};  // its name; empty: the file's first
  std::int64_t block = 0;
  std::int64_t lanes = 0;
  std::string backend = "auto";  // `auto`: the file's
  std::optional<Wait> wait{};
  std::optional<Transfer> transfer{};
  int time_every = 0;
  /// Where its samples come from; null: its own source.
  std::function<std::shared_ptr<SourceOptions>(PipelineSpec&)> source{};
};

/// A pipeline of a file between a source whose samples are kept and outlets that cost nothing: the ring is filled once,
/// then the same samples come again at no cost.
class KeptPipeline {
 public:
  /// Starts it, and returns when the ring is full. `command` begins messages. Throws UsageError if the file is wrong, and
  /// SetupError.
  KeptPipeline(std::string command, const std::string& file, const KeptSetup& setup);
  ~KeptPipeline();

  const Pipeline& pipeline() const noexcept { return *pipeline_; }
  std::int64_t block() const noexcept { return feed_.block; }
  /// As many blocks as it takes. Throws SetupError if none was done.
  FreeRun flat_out(double seconds);
  /// So slowly that no block waits for another; after `flat_out`.
  FreeRun one_by_one(double seconds);
  /// The share of a CPU that the thread which feeds the pipeline used in the last run.
  double feeding() const noexcept { return feeding_; }
  /// Throws SetupError if it has failed.
  void stop();

  /// Shared with its source.
  struct Feed {
    std::atomic<bool> kept{false};         // the ring is full, and its contents stay
    std::atomic<std::int64_t> pace_ns{0};  // between blocks; 0: as fast as possible
    std::atomic<std::int64_t> used_ns{0};  // time of a CPU that its thread has used
    std::int64_t block = 0;
  };

 private:
  PipelineSpec spec_of(const KeptSetup& setup);
  template <class Done> void wait_until(std::string_view what, const Done& done) const;
  FreeRun observe_some(double seconds);

  std::string command_;
  std::unique_ptr<Loaded> loaded_;
  Feed feed_;
  std::unique_ptr<Pipeline> pipeline_;
  double blocks_per_second_ = 0;  // flat out
  double feeding_ = 0;
};

}  // namespace iqd
