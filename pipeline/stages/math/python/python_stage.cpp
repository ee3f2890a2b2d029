// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/backend_name.hpp"
#include "base/error.hpp"
#include "base/integer.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/python/keeper.hpp"
#include "pipeline/stages/math/python/python_cpu.hpp"
#include "pipeline/stages/math/python/worker_script.hpp"

namespace iqd::python {
namespace {

constexpr std::size_t kProcessBytes = 31'000'000;          // a Python with NumPy, its own pages; measured on Debian 12
constexpr std::size_t kMostMemory = std::size_t{4} << 30;  // of the arrays of a process

class PythonStage final : public ConfiguredStage<Config> {
 public:
  bool has_program() const override { return true; }
  bool load(const Section& section) override {
    if (is_loaded_) return true;
    const std::size_t before = section.problems().size();
    check_keys(section);
    if (!program_.is_read()) read_program(config_, section, program_);
    return is_loaded_ = section.problems().size() == before;
  }
  void keep_program(const Stage& of) override { program_ = dynamic_cast<const PythonStage&>(of).program_; }
  std::string program() const override { return program_.text + program_.included; }

  std::vector<InputSpec> inputs(const StageEntry&) const override {
    constexpr std::string_view kNames[] = {"in0", "in1"};
    std::vector<InputSpec> specs;
    for (const std::string& name : config_.in)
      specs.push_back({.name = config_.in.size() == 1 ? "in" : kNames[specs.size() % 2],
                       .elements = {element_named(name).value_or(Element::cf32)},
                       .dims = "any"});
    return specs;
  }

  void shape(ShapeContext& context) override {
    if (!load(context.section)) return;
    const std::size_t before = context.section.problems().size();
    shapes_ = declare(config_, context);
    const Areas areas = areas_of(shapes_);
    if (areas.inputs > kMostMemory || areas.results > kMostMemory)
      context.section.problem(
          "", fmt::format("a block takes more than {} GiB of one process; use a smaller block", kMostMemory >> 30));
    setup_ = make_setup(shapes_, config_.params, context.section);
    label_ = fmt::format("{}: {}{}{}", program_.name, config_.function, context.section.path().empty() ? "" : " of ",
                         context.section.path());
    is_shaped_ = context.section.problems().size() == before;
  }

  Needs needs() const override {
    const Areas areas = areas_of(shapes_);
    const std::size_t each = kProcessBytes + kInputsAt + areas.inputs + kResultsAt + areas.results;
    return {{.what = fmt::format("{} process(es) of {}", config_.workers, label_),
             .bytes = bounded_bytes(config_.workers, each),
             .files = static_cast<int>(config_.workers) * 3}};
  }

  void compile(bool, const Section& section) override {
    if (is_shaped_) crew_ = ready_crew(section);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    require_cpu(backend, "python runs on the CPU only: leave its `backend` out");
    Problems problems;
    std::shared_ptr<Crew> crew = crew_ ? crew_ : ready_crew(Section("python", {}, problems));
    if (!crew) throw UsageError(problems.empty() ? "the function cannot be loaded" : problems.front().text());
    return cpu_run(
        [prepared = Prepared{std::move(crew), setup_}](const StageIo& io) noexcept { run_cpu(prepared, io); });
  }

 private:
  void check_keys(const Section& section) const {
    if (config_.in.empty() || config_.in.size() > kMostInputs)
      section.problem("in", fmt::format("names {} inputs; a function has one or two", config_.in.size()));
    for (const std::string& name : config_.in)
      if (!element_named(name))
        section.problem("in", fmt::format("'{}' is not one of sc16 cf32 f32 f16 i64 i32 i16 i8 u8", name));
    if (config_.device != "cpu" && !device_number(config_.device))
      section.problem("device", fmt::format("'{}' is not cpu, cuda or cuda:N", config_.device));
    if (find_interpreter(config_.interpreter).empty())
      section.problem("interpreter", fmt::format("there is no program {}: install Python (`sudo apt install python3`), "
                                                 "or name another one",
                                                 config_.interpreter));
    if (find_worker_script().empty()) section.problem("", kNoScript);
  }

  Job job() const {
    return {.program = program_,
            .function = config_.function,
            .interpreter = find_interpreter(config_.interpreter),
            .script = find_worker_script(),
            .label = label_,
            .inputs = config_.in.size(),
            .workers = static_cast<int>(config_.workers),
            .memory = static_cast<std::size_t>(config_.memory),
            .device = device_number(config_.device).value_or(-1),
            .start_s = config_.start,
            .limit_s = config_.limit,
            .spin_s = config_.spin};
  }

  /// Processes that have loaded the program; null after a problem.
  std::shared_ptr<Crew> ready_crew(const Section& section) const {
    const std::size_t before = section.problems().size();
    std::shared_ptr<Crew> crew = Keeper::instance().crew_for(job(), areas_of(shapes_));
    if (const Refusal refusal = crew->wait_until_ready(); !refusal.what.empty())
      section.problems().push_back(
          {refusal.file.empty() ? section.place() : Place{refusal.file, refusal.line, refusal.column}, section.path(),
           refusal.what});
    else
      check_parameters(crew->parameters(), section);
    Keeper::instance().keep(crew);
    return section.problems().size() > before ? nullptr : crew;
  }

  void check_parameters(const std::vector<std::string>& names, const Section& section) const {
    const bool takes_any = std::ranges::find(names, "**") != names.end();
    for (const std::string& name : names)
      if (name.ends_with('!') && !config_.params.contains(name.substr(0, name.size() - 1)))
        section.problem("params", fmt::format("parameter '{}' of {} has no value", name.substr(0, name.size() - 1),
                                              config_.function));
    std::vector<std::string> known;
    for (const std::string& name : names)
      if (name != "**") known.push_back(name.ends_with('!') ? name.substr(0, name.size() - 1) : name);
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    for (const auto& [key, value] : config_.params)
      if (!takes_any && std::ranges::find(known, key) == known.end())
        section.problem("params." + key, fmt::format("{} has no parameter '{}'{}", config_.function, key,
                                                     did_you_mean(key, candidates)));
  }

  Program program_;
  Shapes shapes_;
  Setup setup_;
  std::string label_;
  std::shared_ptr<Crew> crew_;
  bool is_loaded_ = false;
  bool is_shaped_ = false;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field(
      "file", file,
      {.help = "the Python file with the function, or a model (.onnx); a relative path starts at the pipeline's file"});
  v.field("code", code, {.help = "the function's text, instead of `file`"});
  v.field("function", function, {.help = "the function's name"});
  v.field("in", in, {.help = "the inputs' types, one or two of sc16 cf32 f32 f16 i64 i32 i16 i8 u8"});
  v.group("out", out_given, {.help = "what the function returns"}, [this](FieldVisitor& inner) {
    inner.field("element", out.element, {.help = "its type, one of sc16 cf32 f32 f16 i64 i32 i16 i8 u8"});
    inner.field("dims", out.dims,
                {.help = "its dimensions, if not the input's, as in \"[n]\", \"[frame][bin 64]\" or \"[value 3]\""});
    inner.field("most", out.most,
                {.help = "of items that the function finds: how many in a block at most", .low = 0, .high = 1 << 20});
  });
  v.field("past", past, {.help = "how many samples before the new ones it gets", .low = 0, .high = kMostHalo});
  v.field("future", future, {.help = "how many samples after the new ones it gets", .low = 0, .high = kMostHalo});
  v.field("decimation", decimation, {.help = "it takes whole groups of so many samples", .low = 1, .high = kMostRatio});
  v.field("interpolation", interpolation,
          {.help = "and returns so many results for each", .low = 1, .high = kMostRatio});
  v.field("params", params, {.help = "values of the function's other arguments, by name", .live = true, .lists = true});
  v.field("workers", workers,
          {.help = "how many processes compute blocks at the same time", .low = 1, .high = kMostWorkers});
  v.field(
      "limit", limit,
      {.help = "a process that takes longer for a block is killed", .unit = Unit::seconds, .low = 0.001, .high = 3600});
  v.field("start", start,
          {.help = "how long it may take to load the file", .unit = Unit::seconds, .low = 0.1, .high = 3600});
  v.field("spin", spin,
          {.help = "how long daemon and process look for each other's next word before they sleep",
           .unit = Unit::seconds,
           .low = 0,
           .high = 1});
  v.field("memory", memory,
          {.help = "address space of a process; with a `device`, its own data",
           .unit = Unit::bytes,
           .low = 0x1p26,
           .high = 0x1p50,
           .bare_low = 0x1p20});
  v.field("device", device,
          {.help = "where the arrays lie that the function gets: cpu, or a GPU, cuda or cuda:N, for CuPy or PyTorch"});
  v.field("interpreter", interpreter, {.help = "the Python that runs it, for instance of a virtual environment"});
}

StageEntry entry() {
  return {.family = "math",
          .name = "python",
          .summary = "a function of your own in Python, in a process of its own",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .dims = "any"}},
          .outputs = {{.name = "out"}, {.name = "events", .tally = kEvents}},
          .make = make_stage<PythonStage>,
          .sample = "python: {code: \"def f(x, meta, k):\\n  return k * x.conj()\", params: {k: 2}}",
          .host_only = true,
          .tolerance = 0};
}

}  // namespace iqd::python
