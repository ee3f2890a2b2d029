// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage_runner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "config/reader.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/backend/find_backend.hpp"
#include "pipeline/plan/fusion/element_program.hpp"
#include "pipeline/plan/planner.hpp"
#include "pipeline/plan/shape_check.hpp"

namespace iqd {
namespace {

/// Checks that each of the stage's inputs has an array of the size that its shape implies.
bool are_whole(const StageEntry& entry, const std::vector<StageInput>& inputs, const Section& section) {
  const std::size_t before = section.problems().size();
  for (std::size_t i = inputs.size(); i < entry.inputs.size(); ++i)
    if (!entry.inputs[i].optional) section.problem(entry.inputs[i].name, "is missing");
  if (inputs.size() > entry.inputs.size() || inputs.empty())
    section.problem("", fmt::format("has {} input(s), but {} are given", entry.inputs.size(), inputs.size()));
  if (section.problems().size() > before) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const StageInput& in = inputs[i];
    if (const std::string fault = fault_of(in.shape, in.length); !fault.empty())
      section.problem(entry.inputs[i].name, fault);
    else if (std::ssize(in.data) != in.row_bytes() * in.shape.row_count())
      section.problem(entry.inputs[i].name,
                      fmt::format("has {} bytes, but {} with {} of [{}] takes {}", in.data.size(), in.shape.text(),
                                  in.length, in.shape.axis_name, in.row_bytes() * in.shape.row_count()));
  }
  return section.problems().size() == before;
}

/// For element-wise stages: cuts all inputs to the length of the shortest.
void cut_to_shortest(std::vector<StageInput>& inputs) {
  std::int64_t shortest = inputs.front().length;
  for (const StageInput& in : inputs) shortest = std::min(shortest, in.length);
  for (StageInput& in : inputs) {
    if (in.length == shortest) continue;
    const std::int64_t pitch = in.row_bytes();
    in.length = shortest;
    for (std::int64_t row = 0; row < in.shape.row_count(); ++row)
      std::copy_n(in.data.begin() + row * pitch, in.row_bytes(), in.data.begin() + row * in.row_bytes());
    in.data.resize(static_cast<std::size_t>(in.row_bytes() * in.shape.row_count()));
  }
}

}  // namespace

std::vector<std::byte> StageOutput::joined() const {
  std::vector<std::byte> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

/// The current block, and how long its stages took.
class StageRunner::TimedWork final : public BlockWork {
 public:
  using BlockWork::BlockWork;
  std::int64_t step_ns = 0;

 private:
  void step_times(StepIndex first_step, std::span<const std::int64_t> ns) noexcept override {
    if (first_step == 0) step_ns = 0;
    const std::vector<PlanStep>& steps = plan().steps;
    for (std::size_t i = 0; i < ns.size() && first_step + i < steps.size(); ++i)
      if (steps[first_step + i].entry != &transfer_entry()) step_ns += ns[i];
  }
};

/// A stage whose keys have been read.
struct StageRunner::ReadStage {
  const StageEntry* entry;
  std::string name;
  std::unique_ptr<Stage> stage;
  Section section;
  std::optional<Connections> from{};
};

StageRunner::~StageRunner() = default;

StageRunner::StageRunner(const StageEntry& entry, const std::string& keys, std::vector<StageInput> inputs,
                         std::int64_t block, const std::string& backend, Problems& problems, const Options& options)
    : inputs_(std::move(inputs)), windows_(inputs_.size()) {
  const std::size_t before = problems.size();
  std::vector<ReadStage> chain = read_chain({&entry, keys}, options.behind, problems);
  if (problems.size() > before) return;

  const Section& section = chain.front().section;
  if (!are_whole(entry, inputs_, section)) return;
  if (chain.front().stage->is_elementwise()) cut_to_shortest(inputs_);
  const auto cut =
      std::find_if(inputs_.begin(), inputs_.end(), [](const StageInput& i) { return i.shape.axis != Axis::block; });
  length_ = cut == inputs_.end() ? 1 : cut->length;
  const std::int64_t most =
      std::clamp<std::int64_t>(block > 0 ? block : length_, 1, std::max<std::int64_t>(length_, 1));
  if (!share_items(entry, most, section)) return;
  host_ = make_cpu_backend();
  const bool host_only = std::ranges::any_of(chain, [](const ReadStage& s) { return s.entry->host_only; });
  backend_ = choose_backend(host_only ? "cpu" : backend).backend;
  const Side side = backend_->kind() == BackendKind::cpu ? Side::host : Side::device;
  const PlanTarget target{.side = side,
                          .mapped = options.mapped.value_or(backend_->mapped_limits()),
                          .fuse = options.fuse,
                          .device_fuses = options.fuse && fusion::can_fuse(*backend_)};
  Planner planner("exec", most, options.stages, target);
  if (!add_chain(planner, chain, options)) return;
  plan_ = planner.finish(section, false);
  if (problems.size() > before || !fits_memory(section)) return;
  set_up(side, options);
}

std::vector<StageRunner::ReadStage> StageRunner::read_chain(const ChainedStage& first,
                                                            std::span<const ChainedStage> behind, Problems& problems) {
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

bool StageRunner::add_chain(Planner& planner, std::vector<ReadStage>& chain, const Options& options) {
  Connections from;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::string name(chain.front().entry->inputs[i].name);
    Rate rate;
    if (inputs_[i].shape.axis == Axis::stream && length_ > 0)
      rate = Rate{}.times(std::max<std::int64_t>(inputs_[i].length, 1), length_);
    planner.add_source(name, inputs_[i].shape, rate);
    from[name] = name;
  }
  const std::vector<std::string>& wanted = options.outputs;
  for (ReadStage& s : chain) {
    if (!planner.add_stage(*s.entry, s.name, std::move(s.stage), s.from.value_or(from), s.section)) return false;
    const bool is_read = &s != &chain.back();
    for (const OutputSpec& o : s.entry->outputs) {
      if ((is_read && &o == &s.entry->outputs.front()) || !options.ports.empty()) continue;
      if (&s == &chain.front() && !wanted.empty() && std::ranges::find(wanted, o.name) == wanted.end()) continue;
      planner.publish(fmt::format("{}.{}", s.name, o.name), s.section, "");
    }
    if (is_read && !s.entry->outputs.empty())
      from = {{"", fmt::format("{}.{}", s.name, s.entry->outputs.front().name)}};
  }
  for (const std::string& port : options.ports) planner.publish(port, chain.back().section, "");
  return true;
}

/// Sets how many items of each input go into a block.
bool StageRunner::share_items(const StageEntry& entry, std::int64_t block, const Section& section) {
  std::vector<PortShape> shapes;
  std::vector<std::int64_t> lengths;
  for (const StageInput& in : inputs_) shapes.push_back(in.shape), lengths.push_back(in.length);
  if (!accept_lengths(entry.inputs, shapes, lengths, length_, block, section)) return false;
  for (StageInput& in : inputs_)
    if (in.shape.axis == Axis::counted)
      in.shape.most = in.length > 1 && length_ > 0 ? ceil_div(block, length_ / in.length) : 1;
  return true;
}

/// Before anything is allocated.
bool StageRunner::fits_memory(const Section& section) const {
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

void StageRunner::set_up(Side side, const Options& options) {
  std::vector<std::shared_ptr<Backend>> devices;
  if (side == Side::device) devices.push_back(backend_);
  plan_.prepare(*host_, devices);
  for (const StageInput& in : inputs_) {
    const std::size_t bytes = in.data.size();
    shared_inputs_.push_back(options.resident ? backend_->allocate(bytes) : backend_->allocate_shared(bytes));
    backend_->upload(shared_inputs_.back().data(), in.data);
  }
  carries_ = std::make_unique<Carries>(plan_, *host_, *backend_);
  work_ = std::make_unique<TimedWork>(plan_, *carries_, *host_, *backend_);
  arenas_[index_of(Side::host)] = backend_->allocate_shared(plan_.arena_bytes[index_of(Side::host)]);
  arenas_[index_of(Side::device)] = backend_->allocate(plan_.arena_bytes[index_of(Side::device)]);
  for (std::size_t s = 0; s < kSides; ++s) lane_.arenas[s] = arenas_[s].data();
  lane_.backend = backend_.get();
  if (side == Side::device) {
    QueueOptions queue;
    queue.wait = Wait::spin;
    queue.time_every = options.timed ? 1 : 0;
    queue.timed_steps = work_->timed_steps();
    queue_ = backend_->make_queue(queue);
  }
}

const BlockWork& StageRunner::work() const noexcept {
  return *work_;
}
std::int64_t StageRunner::step_ns() const noexcept {
  return work_->step_ns;
}

void StageRunner::set_block(SampleIndex first, std::int64_t samples) {
  SampleBlock block;
  block.first = first;
  block.length = samples;
  set_block(block);
}

void StageRunner::set_block(SampleBlock block) {
  const SampleIndex first = block.first, end = block.end();
  block.seq = seq_++;
  block.fresh = first == 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const StageInput& in = inputs_[i];
    const PlanPort& port = plan_.ports[i];
    const auto position = [&](SampleIndex s) {
      return in.shape.axis == Axis::stream ? mul_div(s, port.rate.num, port.rate.den) : mul_div(s, in.length, length_);
    };
    Span span{0, in.length, 0, in.length};
    if (in.shape.axis == Axis::stream || (in.shape.axis == Axis::counted && in.length > 1)) {
      span.first_new = position(first);
      span.end_new = position(end);
      span.first = std::max<std::int64_t>(0, span.first_new - port.reach.past);
      span.end = std::min(in.length, span.end_new + port.reach.future);
    }
    windows_[i] = {shared_inputs_[i].data() + span.first * in.shape.item_bytes(), in.row_bytes(), span};
  }
  work_->set(block, windows_, lane_);
}

void StageRunner::rehearse(SampleIndex first, std::int64_t samples) {
  set_block(first, samples);
  --seq_;  // this block is not run, and a carry would wait for it
  if (queue_) queue_->rehearse(*work_);
}

void StageRunner::start_block() {
  if (!queue_) return work_->enqueue({});
  queue_->submit(*work_);
}

void StageRunner::finish_block() {
  if (queue_) {
    queue_->wait(*work_);
    if (!work_->good()) throw SetupError(backend_->failure());
  }
  if (!work_->has_missing()) return;
  const std::vector<PlanStep>& steps = plan_.steps;
  const auto at = std::ranges::find_if(
      steps, [&](const PlanStep& s) { return !s.out.empty() && work_->is_missing(s.out.front()); });
  throw SetupError(fmt::format("stage '{}' could not compute the block at {}", at != steps.end() ? at->name : "?",
                               work_->block().first));
}

std::vector<StageOutput> StageRunner::run() {
  std::vector<StageOutput> outputs;
  for (const PlanOutput& o : plan_.outputs) {
    const PlanPort& port = plan_.ports[o.port];
    outputs.push_back({port.name.substr(port.name.rfind('.') + 1), port.shape, 0, {}});
    outputs.back().rows.resize(static_cast<std::size_t>(port.shape.row_count()));
    outputs.back().port = port.name;
  }
  for (SampleIndex first = 0; first < length_; first += plan_.block) {
    set_block(first, std::min(plan_.block, length_ - first));
    run_block();
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
