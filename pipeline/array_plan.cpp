// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/array_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "config/reader.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/plan/fusion/element_program.hpp"
#include "pipeline/plan/planner.hpp"
#include "pipeline/plan/shape_check.hpp"

namespace iqd {
namespace {

/// Checks that each of the stage's inputs has an array that a plan can be made for.
bool are_there(const StageEntry& entry, const std::vector<StageInput>& inputs, const Section& section) {
  const std::size_t before = section.problems().size();
  const auto is_given = [&](const InputSpec& spec) {
    for (std::size_t i = 0; i < std::min(inputs.size(), entry.inputs.size()); ++i)
      if (&inputs[i].spec(entry, i) == &spec) return true;
    return false;
  };
  for (const InputSpec& spec : entry.inputs)
    if (!spec.optional && !is_given(spec)) section.problem(spec.name, "is missing");
  if (inputs.size() > entry.inputs.size() || inputs.empty())
    section.problem("", fmt::format("has {} input(s), but {} are given", entry.inputs.size(), inputs.size()));
  if (section.problems().size() > before) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const std::string fault = fault_of(inputs[i].shape, inputs[i].length); !fault.empty())
      section.problem(inputs[i].spec(entry, i).name, fault);
  return section.problems().size() == before;
}

}  // namespace

const InputSpec& StageInput::spec(const StageEntry& entry, std::size_t place) const {
  const auto found = std::ranges::find(entry.inputs, std::string_view(name), &InputSpec::name);
  return found != entry.inputs.end() ? *found : entry.inputs[place];
}

std::optional<Connections> usual_connections(const StageEntry& entry, std::span<const StageEntry* const> before) {
  const InputSpec* const input = only_input(entry.inputs);
  if (!input) return Connections{};
  const auto has_output = [&](const StageEntry* stage) {
    return std::ranges::find(stage->outputs, input->name, &OutputSpec::name) != stage->outputs.end();
  };
  if (std::ranges::any_of(before, has_output)) return Connections{};
  return std::nullopt;
}

/// A stage whose keys have been read.
struct ArrayPlan::ReadStage {
  const StageEntry* entry;
  std::string name;
  std::unique_ptr<Stage> stage;
  Section section;
  std::optional<Connections> from{};
};

ArrayPlan::ArrayPlan(const ChainedStage& first, std::vector<StageInput> inputs, std::int64_t block,
                     const std::string& backend, Problems& problems, const Options& options)
    : inputs_(std::move(inputs)), options_(options) {
  const std::size_t before = problems.size();
  const StageEntry& entry = *first.entry;
  std::vector<ReadStage> chain = read_chain(first, options.behind, problems);
  if (problems.size() > before) return;

  const Section& section = chain.front().section;
  if (!are_there(entry, inputs_, section)) return;
  if (chain.front().stage->is_elementwise()) use_shortest();
  const auto cut =
      std::find_if(inputs_.begin(), inputs_.end(), [](const StageInput& i) { return i.shape.axis != Axis::block; });
  length_ = cut == inputs_.end() ? 1 : cut->length;
  const std::int64_t most =
      std::clamp<std::int64_t>(block > 0 ? block : length_, 1, std::max<std::int64_t>(length_, 1));
  if (!share_items(entry, most, section)) return;
  host_ = make_cpu_backend();
  const bool host_only = std::ranges::any_of(chain, [](const ReadStage& s) { return s.entry->host_only; });
  backend_ = choose_backend(host_only ? "cpu" : backend).backend;
  const PlanTarget target{.side = side(),
                          .mapped = options.mapped.value_or(backend_->mapped_limits()),
                          .fuse = options.fuse,
                          .device_fuses = options.fuse && fusion::can_fuse(*backend_),
                          .results_stay = options.results_stay};
  Planner planner("exec", most, options.stages, target);
  if (!add_chain(planner, chain)) return;
  plan_ = planner.finish(section, false);
  if (problems.size() > before || !fits_memory(section)) return;
  plan_.prepare(*host_, devices());
}

void ArrayPlan::use_shortest() {
  std::int64_t shortest = inputs_.front().length;
  for (const StageInput& in : inputs_) shortest = std::min(shortest, in.length);
  for (StageInput& in : inputs_) in.length = shortest;
}

Span ArrayPlan::span_of(std::size_t input, SampleIndex first, SampleIndex end, Positions there) const noexcept {
  const StageInput& in = inputs_[input];
  const PlanPort& port = plan_.ports[input];
  Span span{there.first, there.end, there.first, there.end};
  if (in.shape.axis != Axis::stream && (in.shape.axis != Axis::counted || in.length <= 1)) return span;
  const auto position = [&](SampleIndex s) {
    return in.shape.axis == Axis::stream ? mul_div(s, port.rate.num, port.rate.den) : mul_div(s, in.length, length_);
  };
  span.first_new = position(first);
  span.end_new = position(end);
  span.first = std::max(there.first, span.first_new - port.reach.past);
  span.end = std::min(there.end, span.end_new + port.reach.future);
  return span;
}

std::vector<ArrayPlan::ReadStage> ArrayPlan::read_chain(const ChainedStage& first, std::span<const ChainedStage> behind,
                                                        Problems& problems) {
  std::vector<ReadStage> chain;
  const auto read = [&](const ChainedStage& s, std::string name) {
    if (!s.name.empty()) name = s.name;
    const Document document = parse_document(s.keys.empty() ? "{}" : s.keys, name, problems);
    std::unique_ptr<Stage> stage = s.entry->make();
    Section section = read_fields(
        document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
    chain.push_back({s.entry, std::move(name), std::move(stage), std::move(section), s.from});
  };
  read(first, std::string(first.entry->name));
  for (const ChainedStage& s : behind) read(s, fmt::format("{}_{}", s.entry->name, chain.size()));
  return chain;
}

void ArrayPlan::check_keys(const ChainedStage& first, std::span<const ChainedStage> behind, Problems& problems) {
  read_chain(first, behind, problems);
}

bool ArrayPlan::add_chain(Planner& planner, std::vector<ReadStage>& chain) {
  Connections from;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::string name(inputs_[i].spec(*chain.front().entry, i).name);
    Rate rate;
    if (inputs_[i].shape.axis == Axis::stream && length_ > 0)
      rate = Rate{}.times(std::max<std::int64_t>(inputs_[i].length, 1), length_);
    planner.add_source(name, inputs_[i].shape, rate);
    from[name] = name;
  }
  const std::vector<std::string>& wanted = options_.outputs;
  for (ReadStage& s : chain) {
    if (!planner.add_stage(*s.entry, s.name, std::move(s.stage), s.from.value_or(from), s.section)) return false;
    const bool is_read = &s != &chain.back();
    for (const OutputSpec& o : s.entry->outputs) {
      if ((is_read && &o == &s.entry->outputs.front()) || !options_.ports.empty()) continue;
      if (&s == &chain.front() && !wanted.empty() && std::ranges::find(wanted, o.name) == wanted.end()) continue;
      planner.publish(fmt::format("{}.{}", s.name, o.name), s.section, "");
    }
    if (is_read && !s.entry->outputs.empty())
      from = {{"", fmt::format("{}.{}", s.name, s.entry->outputs.front().name)}};
  }
  for (const std::string& port : options_.ports) planner.publish(port, chain.back().section, "");
  return true;
}

/// Sets how many items of each input go into a block.
bool ArrayPlan::share_items(const StageEntry& entry, std::int64_t block, const Section& section) {
  std::vector<PortShape> shapes;
  std::vector<std::int64_t> lengths;
  std::vector<InputSpec> specs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    shapes.push_back(inputs_[i].shape);
    lengths.push_back(inputs_[i].length);
    specs.push_back(inputs_[i].spec(entry, i));
  }
  if (!accept_lengths(specs, shapes, lengths, length_, block, section)) return false;
  for (StageInput& in : inputs_)
    if (in.shape.axis == Axis::counted)
      in.shape.most = in.length > 1 && length_ > 0 ? ceil_div(block, length_ / in.length) : 1;
  return true;
}

/// Before anything is allocated.
bool ArrayPlan::fits_memory(const Section& section) const {
  const std::size_t before = section.problems().size();
  const auto check = [&](Backend& backend, std::size_t needed) {
    const std::size_t free = backend.memory().free;
    if (needed > free)
      section.problem(
          "",
          fmt::format("a block of {} takes {:.0f} MB of {}, but {:.0f} MB are free; use a smaller block", plan_.block,
                      static_cast<double>(needed) / 1e6, backend.name(), static_cast<double>(free) / 1e6));
  };
  check(*host_, plan_.arena_bytes[index_of(Side::host)] + plan_.slot_bytes);
  if (backend_->kind() != BackendKind::cpu) check(*backend_, plan_.arena_bytes[index_of(Side::device)]);
  return section.problems().size() == before;
}

}  // namespace iqd
