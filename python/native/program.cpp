// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/program.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

namespace iqd::native {
namespace {

std::string backend_for(const ChainSpec& chain, std::optional<int> device) {
  const bool is_open = chain.backend == "auto" || chain.backend == "cuda";
  if (!device || !is_open) return chain.backend;
  return *device < 0 ? "cuda" : fmt::format("cuda:{}", *device);
}

ArrayPlan::Options options_for(const ChainSpec& chain, std::optional<int> device) {
  ArrayPlan::Options options = chain.options;
  if (!device) return options;
  options.mapped = MappedLimits{.in = std::numeric_limits<std::size_t>::max(), .out = 0};
  options.results_stay = true;
  return options;
}

/// Copies what a block reads of an input to where the device can read it.
ArrayMemory stage_input(const ArrayPlan& plan, std::size_t input, const ArrayMemory& from, const SampleBlock& block,
                        Buffer& to) {
  const Span span = plan.span_of(input, block.first, block.end(), from.there);
  const std::int64_t item = plan.item_bytes(input), row = span.length() * item;
  const std::int64_t rows = plan.rows(input);
  const auto bytes = static_cast<std::size_t>(rows * row);
  if (to.size() < bytes) to = plan.backend().allocate_shared(bytes);
  for (std::int64_t r = 0; r < rows; ++r)
    std::memcpy(to.data() + r * row, from.data + r * from.pitch + (span.first - from.there.first) * item,
                static_cast<std::size_t>(row));
  return {to.data(), row, {span.first, span.end}};
}

}  // namespace

Program::Program(std::shared_ptr<const ChainSpec> chain, std::vector<StageInput> inputs, std::int64_t block,
                 std::optional<int> device, Problems& problems)
    : chain_(std::move(chain)),
      plan_({&chain_->first, chain_->first_keys, {}, chain_->first_name}, std::move(inputs), block,
            backend_for(*chain_, device), problems, options_for(*chain_, device)) {}

void ResultMemory::compute(SampleIndex first, std::int64_t samples, std::span<const CallInput> inputs) {
  const ArrayPlan& plan = program_->plan();
  if (!lane_) lane_ = program_->take_lane();
  // The program that had the former results in this memory may still read them, on any stream.
  if (plan.options().results_stay) plan.backend().wait_for({});
  SampleBlock block;
  block.first = first;
  block.length = samples;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const CallInput& in = inputs[i];
    if (in.stream != 0) plan.backend().wait_for(StreamView{reinterpret_cast<void*>(in.stream)});
    lane_->memory[i] =
        !on_device(plan.side()) || in.on_device ? in.memory : stage_input(plan, i, in.memory, block, lane_->staged[i]);
  }
  run_->set_block(block, lane_->memory, lane_->lane);
  run_->run_block();
  if (!plan.options().results_stay) program_->give(std::move(lane_));
}

}  // namespace iqd::native
