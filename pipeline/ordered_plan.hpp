// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/pool.hpp"
#include "pipeline/engine/lanes.hpp"
#include "pipeline/spec/work_order.hpp"
#include "pipeline/spec_plan.hpp"

namespace iqd {

/// A block that a home has sent, and its samples: rows follow each other.
struct OrderedBlock {
  SampleBlock block;
  std::span<const std::byte> samples;
};

/// What a worker computes by one order. Several lanes use it at once.
class OrderedPlan {
 public:
  /// Puts the backends into the spec, and opens them.
  using Choose = std::function<ChosenBackends(PipelineSpec&)>;
  /// Throws SetupError if it is no order that this build can carry out, or if the samples or the results of a block
  /// need more than `most_bytes`. `lanes`: how many blocks at once.
  OrderedPlan(const WorkOrder& order, const Catalogue& catalogue, const std::vector<std::string>& backend, int lanes,
              std::size_t most_bytes);
  OrderedPlan(const WorkOrder& order, const Catalogue& catalogue, const Choose& choose, int lanes,
              std::size_t most_bytes);
  ~OrderedPlan();
  OrderedPlan(const OrderedPlan&) = delete;
  OrderedPlan& operator=(const OrderedPlan&) = delete;

  const Plan& plan() const noexcept { return plan_; }
  const std::string& pipeline() const noexcept { return plan_.pipeline; }
  /// Of the home that wrote the order.
  const std::string& build() const noexcept { return build_; }
  /// What computes, by its name: `cpu`, `cuda:0`.
  const std::string& device() const noexcept { return device_; }
  /// How many bytes the samples of this block must have; -1: it cannot be a block of this order.
  std::int64_t sample_bytes(const SampleBlock& block) const noexcept;

  /// Computes a block in a lane that is free. False: the block does not fit the order.
  bool compute(int lane, const OrderedBlock& block) noexcept;
  /// For how long the step that a host thread runs has run; 0: none runs.
  std::int64_t in_step_ns(int lane) const noexcept;
  /// After the end; false: a device has failed.
  bool is_good(int lane) const noexcept;
  std::string failure() const;
  /// The results of the lane's last block. Rows are `pitch` bytes apart.
  struct Result {
    PoolPort port;  // without data
    const std::byte* data = nullptr;
    std::int64_t pitch = 0;
    std::int64_t rows = 1;
    std::int64_t row_bytes = 0;
  };
  Result result(int lane, std::size_t returned) const noexcept;
  std::size_t results() const noexcept { return ports_.size(); }

 private:
  class LaneWork;
  std::unique_ptr<Carries> carries_;
  std::string build_;
  std::string device_;
  EngineBackends backends_;
  Plan plan_;
  std::vector<PortIndex> ports_;  // of the results, in their order
  std::unique_ptr<Lanes> lanes_;
  std::vector<std::unique_ptr<LaneWork>> works_;
};

}  // namespace iqd
