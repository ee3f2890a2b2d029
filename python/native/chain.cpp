// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/chain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "python/native/errors.hpp"
#include "python/native/given_arrays.hpp"

namespace iqd::python {
namespace py = pybind11;

namespace {

/// Plans that are kept; a result keeps its own as long as it lives.
constexpr std::size_t kMostKept = 16;

const StageEntry& entry_named(const std::string& name) {
  if (const StageEntry* entry = find_stage(name)) return *entry;
  raise_config({fmt::format("there is no stage '{}'; iqd.stages() lists them", name)});
}

/// Whether an array's values decide which type it becomes: whole numbers that no input takes as they are.
bool depend_on_values(const std::vector<py::array>& arrays, const std::vector<InputSpec>& specs) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string dtype = dtype_of(arrays[i]);
    if (dtype[1] != 'i' && dtype[1] != 'u' && dtype[1] != 'b') continue;
    const auto is_own = [&](Element e) { return traits(e).dtype == dtype; };
    if (std::ranges::none_of(specs[i].elements, is_own)) return true;
  }
  return false;
}

}  // namespace

void compute(Program& program, ArrayRun& run, SampleIndex first, std::int64_t samples,
             std::span<const ArrayMemory> memory) {
  std::unique_ptr<CallLane> lane = program.take_lane();
  SampleBlock block;
  block.first = first;
  block.length = samples;
  run.set_block(block, memory, lane->lane);
  run.run_block();
  program.give(std::move(lane));
}

Chain::Chain(std::vector<StageText> stages, std::vector<std::string> ports, std::string backend)
    : spec_(std::make_shared<ChainSpec>()) {
  Problems problems;
  const StageText& first = stages.front();
  spec_->first = configured(entry_named(first.entry), first.keys, problems);
  spec_->first_keys = first.keys;
  spec_->first_name = first.name;
  spec_->backend = std::move(backend);
  spec_->options.ports = std::move(ports);
  std::vector<const StageEntry*> before{&spec_->first};
  for (std::size_t s = 1; s < stages.size(); ++s) {
    StageText& stage = stages[s];
    const StageEntry& entry = entry_named(stage.entry);
    if (!stage.from) stage.from = usual_connections(entry, before);
    spec_->options.behind.push_back({&entry, stage.keys, stage.from, stage.name});
    before.push_back(&entry);
  }
  if (problems.empty())
    ArrayPlan::check_keys({&spec_->first, first.keys, {}, first.name}, spec_->options.behind, problems);
  raise_if_any(problems, names());
}

/// The files that problems of keys name.
std::vector<std::string> Chain::names() const {
  std::vector<std::string> names{spec_->first_name, std::string(spec_->first.name)};
  for (const ChainedStage& stage : spec_->options.behind) names.push_back(stage.name);
  return names;
}

std::string Chain::key_of(const std::vector<py::array>& arrays, const CallOptions& options) {
  std::string key = fmt::format("{} {} {}", options.rate, options.frequency, options.block);
  for (const py::array& array : arrays) {
    key += fmt::format(" {}{}", array.dtype().kind(), static_cast<int>(array.itemsize()));
    for (py::ssize_t d = 0; d < array.ndim(); ++d) key += fmt::format(",{}", static_cast<std::int64_t>(array.shape(d)));
  }
  return key;
}

/// The arrays' inputs. Raises ConfigError if there are too few or too many.
std::vector<InputSpec> Chain::specs_for(std::size_t arrays) const {
  const std::vector<InputSpec>& all = spec_->first.inputs;
  const auto needed = static_cast<std::size_t>(std::ranges::count(all, false, &InputSpec::optional));
  if (arrays > all.size() || arrays < std::max<std::size_t>(needed, 1))
    raise_config({fmt::format("{} takes {} array(s), {} are given", spec_->first.name, std::max<std::size_t>(needed, 1),
                              arrays)});
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(arrays)};
}

Prepared Chain::plan(const std::vector<GivenArray>& given, std::vector<StageInput> inputs,
                     const std::vector<InputSpec>& specs, const CallOptions& options) {
  Prepared made;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    PortShape& shape = inputs[i].shape;
    shape.frequency_hz = options.frequency;
    made.elements.push_back(shape.element);
    made.rows.push_back(shape.rows.empty() ? 0 : 1);
  }
  made.dimensions = given.front().shape.size();
  made.one_item = iqd::is_one_item(given.front(), specs.front());
  Problems problems;
  made.program = std::make_shared<Program>(spec_, std::move(inputs), options.block, problems);
  raise_if_any(problems, names());
  made.formats = std::make_shared<ResultFormats>(made.program->plan().plan());
  return made;
}

Prepared Chain::find(const std::vector<py::array>& arrays, const CallOptions& options) {
  std::string key = key_of(arrays, options);
  const std::vector<InputSpec> all = specs_for(arrays.size());
  const bool by_value = depend_on_values(arrays, all);
  const auto kept = [&] { return std::ranges::find(kept_, key, &std::pair<std::string, Prepared>::first); };
  auto at = by_value ? kept_.end() : kept();
  if (at == kept_.end()) {
    std::vector<GivenArray> given_arrays;
    for (const py::array& array : arrays) given_arrays.push_back(given(array));
    const std::vector<InputSpec> specs = agreed(given_arrays, all);
    std::vector<StageInput> inputs;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      inputs.push_back(layout_of(given_arrays[i], specs[i], options.rate));
      if (by_value) key += fmt::format(" {}", name_of(inputs.back().shape.element));
    }
    at = by_value ? kept() : at;
    if (at == kept_.end()) {
      kept_.emplace_front(key, plan(given_arrays, std::move(inputs), specs, options));
      if (kept_.size() > kMostKept) kept_.pop_back();
      return kept_.front().second;
    }
  }
  kept_.splice(kept_.begin(), kept_, at);
  return kept_.front().second;
}

Prepared Chain::prepare(std::vector<py::array>& arrays, const CallOptions& options) {
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (dtype_of(arrays[i]).empty()) arrays[i] = plain(arrays[i], name_of_input(i));
  Prepared prepared = find(arrays, options);
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (!is_readable(arrays[i], prepared.elements[i], prepared.rows[i]))
      arrays[i] = converted(arrays[i], prepared.elements[i], name_of_input(i));
  return prepared;
}

Prepared Chain::prepare_stream(const py::array& samples, const CallOptions& options) {
  const std::vector<InputSpec> specs = specs_for(1);
  GivenArray array = given(samples);
  StageInput input = layout_of(array, specs.front(), options.rate);
  if (input.shape.axis != Axis::stream)
    raise_config({fmt::format("{} takes {}, which is no stream of samples", name_of_input(0), specs.front().dims)});
  input.length = input.shape.most = options.block;
  return plan({array}, {input}, specs, options);
}

py::object Chain::run(const std::vector<py::array>& given_arrays, const CallOptions& options) {
  std::vector<py::array> arrays = given_arrays;
  const Prepared prepared = prepare(arrays, options);
  const ArrayPlan& plan = prepared.program->plan();
  std::vector<ArrayMemory> memory;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    memory.push_back(memory_of(arrays[i], prepared.rows[i], plan.whole(i)));
  if (plan.length() == 0) return prepared.formats->none(plan.plan());
  if (plan.length() > plan.plan().block) return run_in_blocks(prepared, memory);
  std::unique_ptr<ArrayRun> run;
  {
    const py::gil_scoped_release release;
    run = prepared.program->take_run();
    compute(*prepared.program, *run, 0, plan.length(), memory);
  }
  return prepared.formats->arrays(std::make_shared<ResultMemory>(prepared.program, std::move(run)), prepared.one_item);
}

py::object Chain::run_in_blocks(const Prepared& prepared, std::span<const ArrayMemory> memory) {
  const ArrayPlan& plan = prepared.program->plan();
  ArrayRun run(plan);
  py::list blocks;
  for (SampleIndex first = 0; first < plan.length(); first += plan.plan().block) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    {
      const py::gil_scoped_release release;
      compute(*prepared.program, run, first, std::min(plan.plan().block, plan.length() - first), memory);
    }
    blocks.append(prepared.formats->copies(run));
  }
  return blocks;
}

}  // namespace iqd::python
