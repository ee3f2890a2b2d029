// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/backend.hpp"
#include "base/block.hpp"
#include "base/shape.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"

namespace iqd {

/// How the items of a port lie in time.
enum class Axis : std::uint8_t {
  stream,   // at a fixed rational rate: [n], [frame][bin]
  counted,  // as many as were found in a block: [packet][symbol]
  block,    // one a block, or none: [bin]
};

/// In `marks`: made of samples that the source's calibration was applied to, while it held.
inline constexpr std::string_view kCalibratedMark = "calibrated";

/// A port is an array [rows…][axis][item…]; rows and item have fixed extents, the axis varies (and is not shown where
/// it is `block`).
struct PortShape {
  Element element = Element::cf32;
  std::vector<Dim> rows;  // [channel], empty for one channel
  Axis axis = Axis::stream;
  std::string axis_name = "n";
  std::vector<Dim> item;      // [bin]; empty for scalars
  std::int64_t most = 1;      // counted: the largest count
  double rate_hz = 0;         // stream: items a second
  double frequency_hz = 0;    // where the radio was tuned to
  double source_rate_hz = 0;  // samples a second at the source
  double llr_scale = 0;       // LLRs in whole numbers: what one is worth
  /// What a stage tells those behind it of how its items came to be; goes on with the shape.
  std::vector<std::string> marks;

  std::int64_t row_count() const noexcept;
  std::int64_t item_size() const noexcept;  // elements
  std::int64_t item_bytes() const noexcept { return item_size() * static_cast<std::int64_t>(size_of(element)); }
  std::string text() const;  // `cf32 [channel 2][n]`
  friend bool operator==(const PortShape&, const PortShape&) = default;
};

/// How outputs depend on an input. Positions are absolute: they count from the start of the stream, not of a block.
/// Output positions m·yield … (m+1)·yield-1 belong to the granule that starts at input position m·granule; without
/// `whole` each lies at a place of its own in it, position p at input position floor(p·granule / yield), and past and
/// future count from there.
struct Footprint {
  std::int64_t past = 0;  // input positions before the granule that are read; fewer exist at the start and after a gap
  std::int64_t future = 0;  // input positions behind it that are read; fewer exist at an end
  std::int64_t granule = 1;
  std::int64_t yield = 1;
  bool whole = false;  // nothing comes of a granule that is not complete (a transform), else its first position
                       // is enough (a decimator)
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

/// What a stage learns about its inputs when the plan is made, and what it says about its outputs.
struct ShapeContext {
  std::span<const PortShape> in;
  std::span<PortShape> out;        // preset to the first input's shape
  std::span<Footprint> footprint;  // one an input
  std::int64_t most_new = 1;       // new positions of the first input in a block, at most
  std::size_t scratch_bytes = 0;   // private to the stage, one a lane
  std::size_t carry_bytes = 0;     // handed on from block to block, in order; makes the stage sequential. It is
                                   // that before output position first_new; the stage leaves that before end_new.
  bool chunk_exempt = false;       // an option makes the result depend on how the stream is cut
  const Section& section;          // takes problems: section.problem("size", "…")
};

/// One port of one block, in memory.
struct PortIo {
  std::byte* data = nullptr;  // row 0, position `first`
  std::int64_t first = 0;     // absolute position
  std::int64_t length = 0;    // positions that are there (in) or have to be made (out); `counted`: the most
  std::int64_t pitch = 0;     // bytes from row to row
  std::int64_t rows = 1;
  std::int64_t item = 1;                   // elements of one position
  std::int32_t* count = nullptr;           // counted and block: how many there are; written by the stage
  const std::int64_t* first_at = nullptr;  // `first` again, in memory that a device reads

  std::int64_t end() const noexcept { return first + length; }
  /// [row][position · item]
  template <class T> View<T, 2> as() const noexcept {
    return View<T, 2>(reinterpret_cast<T*>(data), {rows, length * item}, pitch / static_cast<std::int64_t>(sizeof(T)));
  }
};

/// Positions first … end-1.
struct Positions {
  std::int64_t first = 0;
  std::int64_t end = 0;
  std::int64_t length() const noexcept { return end - first; }
};

/// All that a stage gets for one block.
struct StageIo {
  std::span<const PortIo> in;
  std::span<const PortIo> out;
  std::int64_t first_new = 0;  // of input 0: the first position that is new in this block, and is there
  std::int64_t end_new = 0;    // not before first_new
  std::byte* scratch = nullptr;
  std::byte* device_scratch = nullptr;
  std::byte* carry = nullptr;
  bool fresh = false;                  // with a carry: a gap or the start lies before this block
  const SampleBlock* block = nullptr;  // in memory that a device reads, as `first_at`

  /// New positions that all inputs have, of streams of one rate: what stands before them may begin and end them apart.
  Positions new_in_all() const noexcept {
    Positions all{first_new, end_new};
    for (const PortIo& port : in) all = {std::max(all.first, port.first), std::min(all.end, port.end())};
    all.end = std::max(all.first, all.end);
    return all;
  }
};

/// A configured stage made ready for one backend. One instance serves all lanes at once, so it keeps nothing between
/// blocks.
class StageRun {
 public:
  virtual ~StageRun() = default;
  /// Computes every output position asked for, or puts that on the stream. Allocates nothing, never waits.
  ///
  /// What a device does is captured once and then done for many blocks. So code for a device may look at lengths, at
  /// differences between positions and at addresses here, where it is put on the stream; absolute positions it reads
  /// from `PortIo::first_at`, counts from `PortIo::count`, when it runs. It writes the count of each output that is not
  /// a stream.
  virtual void enqueue(const StageIo& io, StreamView stream) const noexcept = 0;
  /// Room that this backend needs in `StageIo::device_scratch`, which starts at a multiple of 256.
  virtual std::size_t device_scratch_bytes() const noexcept { return 0; }
};

struct InputSpec;
struct StageEntry;

/// A stage as configured: its keys, then its shapes, then its code for a backend.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual void fields(FieldVisitor& visitor) = 0;
  virtual void shape(ShapeContext& context) = 0;
  /// After `shape`. Throws SetupError where the backend cannot do it.
  virtual std::unique_ptr<StageRun> make(Backend& backend) const = 0;

  // A stage that runs a program of the user's: the keys decide which inputs it has, and a compiler has a say in whether
  // they are right. Other stages have no program.

  virtual bool has_program() const { return false; }
  /// Once the keys are read, and before anything else: reads the program. False, and problems, where it is wrong. A
  /// second call does nothing.
  virtual bool load(const Section& /*section*/) { return true; }
  /// Before `load`: takes the program that another stage of the same entry has read, instead of reading one.
  virtual void keep_program(const Stage& /*of*/) {}
  /// After `load`: what was read, to tell a changed file from the one that runs.
  virtual std::string program() const { return {}; }
  /// After `load`: the stage's inputs, which are the entry's unless a program has others.
  virtual std::vector<InputSpec> inputs(const StageEntry& entry) const;
  /// After `shape`: what the compiler finds wrong becomes problems, with their places in the program. Opens no device.
  virtual void compile(bool /*for_device*/, const Section& /*section*/) {}
  /// After `compile`: why it could not be tried where it is to run; empty where it was.
  virtual std::string untried() const { return {}; }
};

/// A stage whose keys are the fields of `Config`.
template <class Config> class ConfiguredStage : public Stage {
 public:
  explicit ConfiguredStage(Config config = {}) : config_(std::move(config)) {}
  void fields(FieldVisitor& visitor) override { config_.fields(visitor); }

 protected:
  Config config_;
};

/// Which element types an input takes; where a sc16 stream meets an input that wants cf32, the planner converts.
struct InputSpec {
  std::string_view name;
  std::vector<Element> elements;
  std::string_view dims = "[n]";  // as in the documentation; the first of n t vector packet frame is the axis
  bool optional = false;
  bool whole = false;  // a parameter: not cut into blocks, given whole with each
  bool one_channel = false;
  bool nested = false;            // of items: any dimensions behind the axis; those written are the usual ones
  bool variance = false;          // its values are not negative
  bool reread = false;            // read more than once: a device wants a copy, not the host's memory in place
  std::vector<Dim> example = {};  // of items: one that goes with the sample's keys

  bool takes(Element e) const noexcept;
  /// The name of the first dimension, `packet` of `[packet][sample]`.
  std::string_view axis_name() const noexcept;
  /// Counted items, as `[packet][sample]` and `[vector][rx]`, and no stream.
  bool items() const noexcept;
  /// The first dimension goes along a stream or counts items; else there is one array a block, as `[bin]`.
  bool has_axis() const noexcept;
  /// What tests and benches try it with: single samples, or items like the example.
  PortShape example_shape(Element element, std::int64_t length) const;
};

struct OutputSpec {
  std::string_view name;
  std::string_view fact = {};  // the header key that each item's value is published under, on every port of its items
  bool can_omit = false;       // where nobody reads it, PortIo::data is null and the stage leaves it out
  /// Events that are counted: the output is i64 `[event]` or `[event][kind]`, one a block, and what it holds is added
  /// up and shown to the operator, whether it is published or not.
  std::span<const std::string_view> tally = {};
  /// Numbers of which the last are shown to the operator, published or not: the output is f32 `[level]`, one a block or
  /// none, and its dimension's labels name them. NaN: there is none.
  bool levels = false;
};

/// How the channels of a stream differ from what they should be: one value each, or none.
struct ChannelErrors {
  std::vector<double> gains_db;
  std::vector<double> phases_deg;
  std::vector<double> delays;  // samples
};

/// The registration of a stage: one line in stages.def names it.
struct StageEntry {
  std::string_view family;
  std::string_view name;
  std::string_view summary;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::unique_ptr<Stage> (*make)();  // make_stage<…>
  std::string_view sample;           // the smallest YAML that works: `fir: {taps: [1, 2, 1]}`
  bool host_only = false;            // has code for the processor alone: runs there unless its `backend` says otherwise
  double tolerance = 0;  // how far CUDA may be from the CPU, and blocks from the whole: relative to the output's rms
  // For what a plan puts in by itself, how the stage that does it is made; null of all others.
  std::unique_ptr<Stage> (*make_converter)(Element to) = nullptr;  // gives null where nothing becomes that
  std::unique_ptr<Stage> (*make_resampler)(double to_hz) = nullptr;
  std::unique_ptr<Stage> (*make_aligner)(ChannelErrors errors) = nullptr;  // corrects while the source is calibrated
};

/// What `StageEntry::make` is for a stage of this class.
template <class S> std::unique_ptr<Stage> make_stage() {
  return std::make_unique<S>();
}

/// Wraps a lambda `void(const StageIo&) noexcept` for the CPU.
template <class F> std::unique_ptr<StageRun> cpu_run(F f) {
  class Run final : public StageRun {
   public:
    explicit Run(F f) : f_(std::move(f)) {}
    void enqueue(const StageIo& io, StreamView) const noexcept override { f_(io); }

   private:
    F f_;
  };
  return std::make_unique<Run>(std::move(f));
}

/// The entry with the inputs that the stage has with these keys (YAML). Where a stage runs a program, mistakes in the
/// keys or in the program become problems; those of other stages are reported where the stage is made.
StageEntry configured(const StageEntry& entry, const std::string& keys, Problems& problems);

/// All stages, in the order of stages.def.
std::span<const StageEntry> all_stages();
const StageEntry* find_stage(std::string_view name, std::span<const StageEntry> stages = all_stages());
/// The one that can be made this way: `&StageEntry::make_converter`.
template <class Make> const StageEntry* find_stage(Make StageEntry::*way, std::span<const StageEntry> stages) {
  const auto at = std::ranges::find_if(stages, [way](const StageEntry& e) { return e.*way != nullptr; });
  return at == stages.end() ? nullptr : &*at;
}

}  // namespace iqd
