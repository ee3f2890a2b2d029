// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "base/outlet.hpp"
#include "config/document.hpp"
#include "pipeline/intake.hpp"
#include "pipeline/plan.hpp"

namespace iqd {

/// All that a file may name: what this program was built with.
struct Catalogue {
  std::span<const StageEntry> stages;
  std::span<const DriverEntry> drivers;
  std::unique_ptr<OutletOptions> (*make_publish)() = nullptr;
};

struct StageSpec {
  const StageEntry* entry = nullptr;
  std::string name;
  Connections from;
  std::string backend;  // empty: the pipeline's
  Node node;            // its keys
  Section section;

  /// A stage with these keys, new each time: a plan takes it over.
  std::unique_ptr<Stage> make() const;
};

struct PublishSpec {
  std::string port;
  std::string dtype;  // empty: as the port is
  bool send_empty = false;
  std::unique_ptr<OutletOptions> options;
  Section section;
};

struct SinkSpec {
  std::string port;
  const DriverEntry* driver = nullptr;
  std::unique_ptr<SinkOptions> options;
  Section section;
};

struct RealTime {
  std::int64_t priority = 0;
  std::vector<std::int64_t> cpus;
  bool lock_memory = false;
  double hang_s = 10;
};

/// One pipeline as written.
struct PipelineSpec {
  explicit PipelineSpec(Section s) : section(std::move(s)) {}
  Section section;
  std::string name = "iqd";
  const DriverEntry* driver = nullptr;
  std::unique_ptr<SourceOptions> source;
  std::optional<Section> source_section;
  std::int64_t block = 65536;
  std::int64_t lanes = 0;  // 0: as many as there are processors, at most 4
  std::string backend = "auto";
  std::optional<Overrun> overrun;
  RealTime realtime;
  std::vector<StageSpec> stages;
  bool stages_are_wrong = false;  // some could not be read, so there is no plan to make
  std::vector<PublishSpec> publish;
  std::vector<SinkSpec> sinks;
};

struct Spec {
  std::vector<PipelineSpec> pipelines;
  std::string listen;  // of the monitor; empty: no port is opened
};

/// What is wrong goes to `problems`; the spec is usable where there are none.
Spec read_spec(const Document& document, const Catalogue& catalogue, Problems& problems);

/// The keys of a pipeline that are plain values, for the schema and the documentation.
void pipeline_fields(PipelineSpec& spec, FieldVisitor& visitor);
void monitor_fields(Spec& spec, FieldVisitor& visitor);
void publish_fields(PublishSpec& spec, FieldVisitor& visitor);

/// The plan of a pipeline for a stream of this kind. `outputs` gets, for each publish
/// entry and then each sink, the plan's output; problems are in the order of the file.
Plan make_plan(const PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue,
               std::vector<int>& outputs, Problems& problems);

/// Everything that can be known without opening a device: the plan of each pipeline for the stream that its source
/// describes, and whether their endpoints and names go together.
std::vector<Plan> check_spec(const Spec& spec, const Catalogue& catalogue, Problems& problems);

/// Lanes, slots and ring as they will be, and what that takes.
struct Sizing {
  EngineOptions engine;
  std::size_t ring_bytes = 0;
  std::size_t arena_bytes = 0;
  std::size_t slot_bytes = 0;
  std::size_t total() const noexcept { return ring_bytes + arena_bytes + slot_bytes; }
};
Sizing size_up(const PipelineSpec& spec, const Plan& plan, const StreamInfo& stream);
/// Says what does not fit, before anything is allocated.
void check_memory(const PipelineSpec& spec, const Sizing& sizing, const MemoryBudget& budget);

}  // namespace iqd
