// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage_runner.hpp"

#include <algorithm>

#include "config/reader.hpp"
#include "pipeline/cpu_backend.hpp"

namespace iqd {

std::vector<std::byte> StageOutput::joined() const {
  std::vector<std::byte> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

StageRunner::StageRunner(const StageEntry& entry, const std::string& keys, std::vector<StageInput> inputs,
                         std::int64_t block, const std::string& backend, Problems& problems,
                         std::span<const StageEntry> stages)
    : inputs_(std::move(inputs)), windows_(inputs_.size()) {
  const std::size_t before = problems.size();
  const Document document = parse_document(keys.empty() ? "{}" : keys, std::string(entry.name), problems);
  std::unique_ptr<Stage> stage = entry.make();
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
  if (problems.size() > before) return;

  const auto cut =
      std::find_if(inputs_.begin(), inputs_.end(), [](const StageInput& i) { return i.shape.axis != Axis::block; });
  length_ = cut == inputs_.end() ? 1 : cut->length;
  const std::int64_t most =
      std::clamp<std::int64_t>(block > 0 ? block : length_, 1, std::max<std::int64_t>(length_, 1));
  backend_ = choose_backend(backend).backend;
  Planner planner("exec", most, stages);
  Connections from;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::string name(entry.inputs[i].name);
    Rate rate;
    if (inputs_[i].shape.axis == Axis::stream && length_ > 0)
      rate = Rate{}.times(std::max<std::int64_t>(inputs_[i].length, 1), length_);
    planner.add_source(name, inputs_[i].shape, rate);
    from[name] = name;
  }
  if (!planner.add_stage(entry, std::string(entry.name), std::move(stage), from, section)) return;
  for (const OutputSpec& o : entry.outputs)
    planner.publish(std::string(entry.name) + "." + std::string(o.name), section, "");
  plan_ = planner.finish(section, false);
  if (problems.size() > before) return;
  plan_.prepare(*backend_);
  carries_ = std::make_unique<Carries>(plan_, *backend_);
  work_ = std::make_unique<BlockWork>(plan_, *carries_, *backend_);
  arena_ = backend_->allocate(plan_.arena_bytes);
}

void StageRunner::set_block(SampleIndex first, std::int64_t samples) {
  SampleBlock block;
  block.seq = seq_++;
  block.first = first;
  block.length = samples;
  block.fresh = first == 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    StageInput& in = inputs_[i];
    const PlanPort& port = plan_.ports[i];
    const auto position = [&](SampleIndex s) {
      return in.shape.axis == Axis::stream ? s * port.rate.num / port.rate.den : s;
    };
    Span span{0, in.length, 0, in.length};
    if (in.shape.axis != Axis::block) {
      span.first_new = position(first);
      span.end_new = position(first + samples);
      span.first = std::max<std::int64_t>(0, span.first_new - port.reach.past);
      span.end = std::min(in.length, span.end_new + port.reach.future);
    }
    windows_[i] = {in.data.data() + span.first * in.shape.item_bytes(), in.row_bytes(), span};
  }
  work_->set(block, windows_, arena_.data());
}

std::vector<StageOutput> StageRunner::run() {
  std::vector<StageOutput> outputs;
  for (const PlanOutput& o : plan_.outputs) {
    const PlanPort& port = plan_.ports[static_cast<std::size_t>(o.port)];
    outputs.push_back({port.name.substr(port.name.rfind('.') + 1), port.shape, 0, {}});
    outputs.back().rows.resize(static_cast<std::size_t>(port.shape.row_count()));
  }
  for (SampleIndex first = 0; first < length_; first += plan_.block) {
    set_block(first, std::min(plan_.block, length_ - first));
    work_->enqueue({});
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const BlockWork::Output result = work_->output(o);
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
