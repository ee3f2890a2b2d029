// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "python/native/binding.hpp"
#include "python/native/errors.hpp"
#include "python/native/given_arrays.hpp"
#include "python/native/unlocked.hpp"

namespace iqd::native {
namespace {

/// Plans that are kept; a result keeps its own as long as it lives.
constexpr std::size_t kMostKept = 16;
constexpr std::size_t kMostKeptBytes = std::size_t{256} << 20;

const StageEntry& entry_named(const std::string& name) {
  if (const StageEntry* entry = find_stage(name)) return *entry;
  raise_config({fmt::format("there is no stage '{}'; iqd.stages() lists them", name)});
}

/// Whether an array's values decide which type it becomes: whole numbers that no input takes as they are.
bool depend_on_values(std::span<const InputArray> arrays, std::span<const InputSpec> specs) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i].is_whole_numbers()) continue;
    const auto is_own = [&](Element e) { return traits(e).dtype == arrays[i].dtype; };
    if (std::ranges::none_of(specs[i].elements, is_own)) return true;
  }
  return false;
}

/// The device that arrays lie on: -1, if it is not known which; nothing: they are the host's. Raises ConfigError if they
/// lie on several.
std::optional<int> device_of(const std::vector<InputArray>& arrays) {
  std::optional<int> device;
  for (const InputArray& array : arrays) {
    if (!array.on_device) continue;
    if (device.value_or(-1) >= 0 && array.device >= 0 && device != array.device)
      raise_config({fmt::format("the arrays lie on cuda:{} and cuda:{}", *device, array.device)});
    device = std::max(device.value_or(-1), array.device);
  }
  return device;
}

}  // namespace

Chain::Chain(std::vector<StageText> stages, std::vector<std::string> ports, std::string backend)
    : spec_(std::make_shared<ChainSpec>()) {
  Problems problems;
  const StageText& first = stages.front();
  spec_->first = configured(entry_named(first.entry), first.keys, problems);
  spec_->first_keys = first.keys;
  spec_->first_name = first.name;
  spec_->backend = std::move(backend);
  spec_->options.ports = std::move(ports);
  const std::string source(spec_->first.inputs.empty() ? "" : spec_->first.inputs.front().name);
  std::vector<const StageEntry*> before{&spec_->first};
  for (std::size_t s = 1; s < stages.size(); ++s) {
    StageText& stage = stages[s];
    const StageEntry& entry = entry_named(stage.entry);
    if (!stage.from) stage.from = usual_connections(entry, before);
    if (stage.from)
      for (auto& [input, port] : *stage.from)
        if (port == "source") port = source;  // as in a pipeline file
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

std::string Chain::key_of(const std::vector<InputArray>& arrays, const CallOptions& options) {
  std::string key = fmt::format("{} {} {}", options.rate, options.frequency, options.block);
  for (const InputArray& array : arrays) {
    key += array.on_device ? fmt::format(" {}:", array.device) : " ";
    key += array.dtype;
    for (const std::int64_t extent : array.shape) fmt::format_to(std::back_inserter(key), ",{}", extent);
  }
  return key;
}

/// Raises ConfigError if there are too few arrays or too many.
void Chain::check_number(std::size_t arrays) const {
  const std::vector<InputSpec>& all = spec_->first.inputs;
  const auto needed = static_cast<std::size_t>(std::ranges::count(all, false, &InputSpec::optional));
  if (arrays > all.size() || arrays < std::max<std::size_t>(needed, 1))
    raise_config({fmt::format("{} takes {} array(s), {} are given", spec_->first.name, std::max<std::size_t>(needed, 1),
                              arrays)});
}

PreparedPtr Chain::plan(const std::vector<GivenArray>& given, std::vector<StageInput> inputs,
                        const std::vector<InputSpec>& specs, std::optional<int> device, const CallOptions& options) {
  auto prepared = std::make_shared<Prepared>();
  Prepared& made = *prepared;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    PortShape& shape = inputs[i].shape;
    shape.frequency_hz = options.frequency;
    made.elements.push_back(shape.element);
    made.rows.push_back(shape.rows.size() == 1 ? 1 : 0);
    made.row_bytes.push_back(inputs[i].row_bytes());
  }
  made.axis = inputs.front().shape.rows.size();
  made.one_item = iqd::is_one_item(given.front(), specs.front());
  Problems problems;
  {
    const Unlocked unlocked;
    made.program = std::make_shared<Program>(spec_, std::move(inputs), options.block, device, problems);
  }
  raise_if_any(problems, names());
  if (device && !on_device(made.program->plan().side()))
    raise_config(
        {fmt::format("{} runs on the CPU, but its input is on a GPU: copy it, or set the backend", spec_->first.name)});
  if (const std::string own = made.program->plan().backend().name();
      device.value_or(-1) >= 0 && own != fmt::format("cuda:{}", *device))
    raise_config({fmt::format("{} runs on {}, but its input is on cuda:{}", spec_->first.name, own, *device)});
  made.formats = std::make_shared<ResultFormats>(made.program->plan().plan());
  return prepared;
}

PreparedPtr Chain::find(const std::vector<InputArray>& arrays, const CallOptions& options) {
  std::string key = key_of(arrays, options);
  check_number(arrays.size());
  const auto all = std::span(spec_->first.inputs).first(arrays.size());
  const bool by_value = depend_on_values(arrays, all);
  const auto kept = [&] { return std::ranges::find(kept_, key, &std::pair<std::string, PreparedPtr>::first); };
  auto at = by_value ? kept_.end() : kept();
  if (at == kept_.end()) {
    std::vector<GivenArray> given_arrays;
    for (const InputArray& array : arrays) given_arrays.push_back(given(array));
    const std::vector<InputSpec> specs = agreed(given_arrays, {all.begin(), all.end()});
    std::vector<StageInput> inputs;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      inputs.push_back(layout_of(given_arrays[i], specs[i], options.rate));
      if (by_value) key += fmt::format(" {}", name_of(inputs.back().shape.element));
    }
    at = by_value ? kept() : at;
    if (at == kept_.end()) {
      PreparedPtr made = plan(given_arrays, std::move(inputs), specs, device_of(arrays), options);
      keep(std::move(key), made);
      return made;
    }
  }
  kept_.splice(kept_.begin(), kept_, at);
  return kept_.front().second;
}

/// Other threads may have planned the same meanwhile, which does no harm.
void Chain::keep(std::string key, const PreparedPtr& made) {
  kept_.emplace_front(std::move(key), made);
  std::size_t bytes = 0, kept = 0;
  for (auto at = kept_.begin(); at != kept_.end(); ++at, ++kept) {
    bytes += at->second->program->bytes();
    if (kept == 0 || (kept < kMostKept && bytes <= kMostKeptBytes)) continue;
    kept_.erase(at, kept_.end());
    return;
  }
}

PreparedPtr Chain::prepare(std::vector<InputArray>& arrays, const CallOptions& options) {
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].dtype.empty()) arrays[i] = plain(arrays[i], name_of_input(i));
  PreparedPtr prepared = find(arrays, options);
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (!is_readable(arrays[i], prepared->elements[i], prepared->rows[i]))
      arrays[i] = converted(arrays[i], prepared->elements[i], name_of_input(i));
  return prepared;
}

PreparedPtr Chain::prepare_stream(const InputArray& samples, const CallOptions& options) {
  check_number(1);
  const std::vector<InputSpec> specs{spec_->first.inputs.front()};
  const GivenArray array = given(samples);
  StageInput input = layout_of(array, specs.front(), options.rate);
  if (input.shape.axis != Axis::stream)
    raise_config({fmt::format("{} takes {}, which is no stream of samples", name_of_input(0), specs.front().dims)});
  input.length = input.shape.most = options.block;
  return plan({array}, {input}, specs, {}, options);
}

py::object Chain::run(std::vector<InputArray> arrays, const CallOptions& options) {
  const PreparedPtr held = prepare(arrays, options);
  const Prepared& prepared = *held;
  const ArrayPlan& plan = prepared.program->plan();
  std::vector<CallInput> inputs;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    inputs.push_back({memory_of(arrays[i], prepared.rows[i], prepared.row_bytes[i], plan.whole(i)), arrays[i].on_device,
                      arrays[i].stream});
  if (plan.length() == 0) return prepared.formats->none(plan.plan());
  if (plan.length() > plan.plan().block) return run_in_blocks(prepared, inputs);
  std::shared_ptr<ResultMemory> memory;
  {
    const Unlocked unlocked;
    memory = std::make_shared<ResultMemory>(prepared.program);
    memory->compute(0, plan.length(), inputs);
  }
  return prepared.formats->arrays(std::move(memory), prepared.one_item);
}

py::object Chain::run_in_blocks(const Prepared& prepared, std::span<const CallInput> inputs) {
  const ArrayPlan& plan = prepared.program->plan();
  if (plan.options().results_stay) raise_config({"arrays on a device are computed in one block; set block=0"});
  ResultMemory memory(prepared.program);
  py::list blocks;
  for (SampleIndex first = 0; first < plan.length(); first += plan.plan().block) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    {
      const Unlocked unlocked;
      memory.compute(first, std::min(plan.plan().block, plan.length() - first), inputs);
    }
    blocks.append(prepared.formats->copies(memory.run()));
  }
  return blocks;
}

}  // namespace iqd::native
