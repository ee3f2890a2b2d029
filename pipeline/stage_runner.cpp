// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage_runner.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace iqd {
namespace {

/// Arrays that do not have the bytes that their shapes imply become problems.
bool are_whole(const StageEntry& entry, const std::vector<StageInput>& inputs, Problems& problems) {
  const std::size_t before = problems.size();
  for (std::size_t i = 0; i < std::min(inputs.size(), entry.inputs.size()); ++i) {
    const StageInput& in = inputs[i];
    const std::int64_t bytes = in.row_bytes() * in.shape.row_count();
    if (std::ssize(in.data) == bytes) continue;
    problems.push_back({{std::string(entry.name)},
                        std::string(in.spec(entry, i).name),
                        fmt::format("has {} bytes, but {} with {} of [{}] takes {}", in.data.size(), in.shape.text(),
                                    in.length, in.shape.axis_name, bytes)});
  }
  return problems.size() == before;
}

/// The arrays without their data.
std::vector<StageInput> layouts_of(const std::vector<StageInput>& inputs) {
  std::vector<StageInput> layouts;
  for (const StageInput& in : inputs) layouts.push_back({in.shape, in.length, {}, in.name});
  return layouts;
}

}  // namespace

std::vector<std::byte> StageOutput::joined() const {
  std::vector<std::byte> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

StageRunner::StageRunner(const StageEntry& entry, const std::string& keys, const std::vector<StageInput>& inputs,
                         std::int64_t block, const std::string& backend, Problems& problems, const Options& options) {
  const std::size_t before = problems.size();
  plan_ =
      std::make_unique<ArrayPlan>(ChainedStage{&entry, keys}, layouts_of(inputs), block, backend, problems, options);
  if (problems.size() > before || !are_whole(entry, inputs, problems)) return;
  share(inputs);
  run_ = std::make_unique<ArrayRun>(*plan_);
  lane_ = std::make_unique<ArrayLane>(*plan_);
}

void StageRunner::share(const std::vector<StageInput>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<std::byte>& data = inputs[i].data;
    const bool resident = plan_->options().resident;
    shared_inputs_.push_back(resident ? backend().allocate(data.size()) : backend().allocate_shared(data.size()));
    backend().upload(shared_inputs_.back().data(), data);
    inputs_.push_back({shared_inputs_.back().data(), inputs[i].row_bytes(), plan_->whole(i)});
  }
}

void StageRunner::set_block(SampleIndex first, std::int64_t samples) {
  SampleBlock block;
  block.first = first;
  block.length = samples;
  set_block(block);
}

void StageRunner::rehearse(SampleIndex first, std::int64_t samples) {
  SampleBlock block;
  block.first = first;
  block.length = samples;
  run_->rehearse(block, inputs_, *lane_);
}

std::vector<StageOutput> StageRunner::run() {
  std::vector<StageOutput> outputs;
  for (const PlanOutput& o : plan().outputs) {
    const PlanPort& port = plan().ports[o.port];
    outputs.push_back({port.name.substr(port.name.rfind('.') + 1), port.shape, 0, {}});
    outputs.back().rows.resize(static_cast<std::size_t>(port.shape.row_count()));
    outputs.back().port = port.name;
  }
  for (SampleIndex first = 0; first < length(); first += plan().block) {
    set_block(first, std::min(plan().block, length() - first));
    run_block();
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const BlockWork::Output result = work().output(o);
      const std::int64_t bytes = result.extent * outputs[o].shape.item_bytes();
      outputs[o].length += result.extent;
      for (std::size_t r = 0; r < outputs[o].rows.size(); ++r) {
        const std::byte* row = result.data + static_cast<std::int64_t>(r) * result.pitch;
        outputs[o].rows[r].insert(outputs[o].rows[r].end(), row, row + bytes);
      }
    }
  }
  return outputs;
}

}  // namespace iqd
