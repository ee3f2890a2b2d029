// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/driver.hpp"
#include "base/outlet.hpp"
#include "config/document.hpp"
#include "pipeline/plan/plan.hpp"
#include "pipeline/spec/overrun.hpp"

namespace iqd {

class PoolOptions;        // base/pool.hpp
struct CalibrationTable;  // pipeline/spec/calibration_table.hpp

/// All stages and drivers that a file may name: those that this program was built with.
struct Catalogue {
  std::span<const StageEntry> stages;
  std::span<const DriverEntry> drivers;
  std::unique_ptr<OutletOptions> (*make_publish)() = nullptr;
  std::unique_ptr<PoolOptions> (*make_pool)() = nullptr;
};

struct StageSpec {
  const StageEntry* entry = nullptr;  // null after a problem: the file names no stage of this build
  std::string name;
  Connections from;
  std::vector<std::string> backend;  // empty: the pipeline's
  Node node;                         // its keys
  Section section;
  std::shared_ptr<Stage> as_read{};  // with the values as they were read: files that keys name may have changed since
  bool is_wrong = false;             // its keys could not all be read, so nothing is known about its outputs
  std::vector<std::string> other_names{};  // without an entry: what other entries may call it
  std::string placed{};                    // where `backend: auto` has put it: `cpu`, `cuda`; empty: nowhere yet

  /// Makes a new stage with these keys on each call, for a plan to own.
  std::unique_ptr<Stage> make() const;
};

struct PublishSpec {
  std::string port;
  std::string dtype;  // empty: the port's
  bool send_empty = false;
  std::unique_ptr<OutletOptions> options;
  Section section;
};

struct SinkSpec {
  std::string port;
  const DriverEntry* driver = nullptr;   // null after a problem, as are the options
  std::shared_ptr<SinkOptions> options;  // shared with the code that reopens the sink
  Section section;
};

/// A live key as `to` of an `apply` entry names it: `[PIPELINE/]STAGE.KEY`. `source` counts as a stage here, and a key
/// may be in a group, `a.b`.
struct LiveKey {
  std::string pipeline;
  std::string stage;
  std::string key;
  std::string text() const { return pipeline + '/' + stage + '.' + key; }
  friend bool operator==(const LiveKey&, const LiveKey&) = default;
};

/// A port whose last value becomes a live key.
struct ApplySpec {
  std::string port;
  std::string to;  // as written
  Section section;
  LiveKey key{};
  enum class Takes : std::uint8_t { nothing, whole, real, complex } takes = Takes::nothing;  // kind of numbers
  bool takes_list = false;
};

/// How samples and results get into and out of a device.
enum class Transfer : std::uint8_t {
  automatic,  // the faster way for their size
  mapped,     // the device works on the host's memory
  copy,       // the device's copy engines
};
inline std::span<const std::string_view> enum_names(Transfer) {
  static constexpr std::string_view names[] = {"auto", "mapped", "copy"};
  return names;
}

struct RealTime {
  std::int64_t priority = 0;
  std::vector<std::int64_t> cpus;
  bool lock_memory = false;
  double hang_s = 10;
};

/// How a radio that stopped delivering samples is reopened.
struct Reconnect {
  double silence_s = 5;
  double first_s = 1;
  double longest_s = 8;
};

/// One pipeline as written.
struct PipelineSpec {
  explicit PipelineSpec(Section s) : section(std::move(s)) {}
  Section section;
  std::string name = "iqd";
  const DriverEntry* driver = nullptr;
  std::unique_ptr<SourceOptions> source;
  std::optional<Section> source_section;
  std::shared_ptr<const CalibrationTable> calibration;  // from the source's `calibration` file, as it was read
  std::int64_t block = 65536;
  std::int64_t lanes = 0;                    // 0: one per CPU, at most 4
  std::vector<std::string> backend{"auto"};  // several devices share the blocks; without `pool`
  std::shared_ptr<PoolOptions> pool;         // other hosts share the blocks; null: none
  std::optional<Section> pool_section;
  bool only_pool = false;  // its own lanes compute no whole block
  std::string placed;      // as StageSpec's, of all that is no stage of the file
  Wait wait = Wait::block;
  Transfer transfer = Transfer::automatic;
  bool fuse = true;
  std::string gpu_share;                      // `16 SM`, `12 %`; empty: no part of its own
  std::map<std::string, DeviceShare> shares;  // by device: what it asks for; empty: none is divided
  int urgency = 0;                            // on a device: how many lower priorities the file has there
  std::optional<Overrun> overrun;
  RealTime realtime;
  Reconnect reconnect;
  std::vector<StageSpec> stages;
  std::vector<PublishSpec> publish;
  std::vector<SinkSpec> sinks;
  std::vector<ApplySpec> apply;
  std::vector<std::string> watch;        // ports that the live page shows although nothing else reads them
  std::optional<Section> watch_section;  // where they are named
  bool watched = false;                  // there is a live page
  std::size_t file_bytes = 0;            // its share of the heap that the parsed file takes
  int time_every = 0;                    // for a bench: the steps of one in so many blocks are timed; 0: as usual
  bool short_blocks = false;             // a stage may take more samples at once than a block has
  bool has_run = false;                  // so it fits, however little memory seems to be free

  /// Whether the source waits for lanes and sinks.
  bool is_lossless(const StreamInfo& stream) const noexcept {
    return stream.can_wait && overrun.value_or(Overrun::wait) == Overrun::wait;
  }
};

/// One route out of a pipeline, as written: an entry of `publish`, `sinks` or `apply`.
using RouteSpec = std::variant<const PublishSpec*, const SinkSpec*, const ApplySpec*>;
/// Returns all routes in the order of these lists; plans, sizes and engines use the same numbering. The pointers point
/// into the spec.
std::vector<RouteSpec> routes_of(const PipelineSpec& spec);
/// The stage of this name; null if there is none.
const StageSpec* stage_named(const PipelineSpec& spec, std::string_view name);

struct Spec {
  std::vector<PipelineSpec> pipelines;
  std::string listen;              // the monitor's address; empty: no port is opened
  std::string token_file;          // holds the secret that HTTP requests for changes must contain
  bool insecure = false;           // HTTP may be reached from other machines without a token
  bool page = true;                // the port serves the live page
  std::vector<std::string> watch;  // `[PIPELINE/]STAGE.PORT`
  std::string recordings;          // folder for recordings that requests start; empty: none can be started
  std::vector<std::string> peers;  // addresses of other iqds, for links
  std::string grafana;             // address of a dashboard, for a link
  std::optional<Section> monitor;
  Node work;             // of a worker, which has no pipelines; missing: it is none
  bool is_whole = true;  // false after a problem: some pipelines could not be read at all

  bool has_page() const noexcept { return page && !listen.empty(); }
};

/// Keys of a stage or of `source` that replace those in the file.
struct Override {
  std::string pipeline;  // empty: all
  std::string stage;
  Node keys;
};

/// An entry of `sinks` that is not in the file: a recording that a request has started.
struct AddedSink {
  std::string pipeline;
  Node entry;
  bool is_open = false;
};

/// Problems go to `problems`; the spec is usable if there are none.
Spec read_spec(const Document& document, const Catalogue& catalogue, Problems& problems,
               std::span<const Override> overrides = {}, std::span<const AddedSink> added = {});

/// Reads name, block and stages of a pipeline; nothing else of it is known.
PipelineSpec read_chain(const Node& node, const Catalogue& catalogue, Problems& problems);

/// The keys of a pipeline that are plain values, for the schema and the documentation.
void pipeline_fields(PipelineSpec& spec, FieldVisitor& visitor);
void stage_backend_field(std::vector<std::string>& backend, FieldVisitor& visitor);
void monitor_fields(Spec& spec, FieldVisitor& visitor);
void publish_fields(PublishSpec& spec, FieldVisitor& visitor);
void apply_fields(ApplySpec& spec, FieldVisitor& visitor);

}  // namespace iqd
