// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
#include "base/need.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/element_code.hpp"
#include "pipeline/stage/port_shape.hpp"
#include "pipeline/stage/positions.hpp"

namespace iqd {

/// How outputs depend on an input. Positions are absolute: they count from the start of the stream, not of a block.
/// Output positions m·yield … (m+1)·yield-1 belong to the granule that starts at input position m·granule. Without
/// `whole`, each has its own place in the granule: position p is at input position floor(p·granule / yield), and past
/// and future count from there.
struct Footprint {
  std::int64_t past = 0;    // input positions read before the granule; fewer exist at the start and after a gap
  std::int64_t future = 0;  // input positions read after it; fewer exist at an end
  std::int64_t granule = 1;
  std::int64_t yield = 1;
  bool whole = false;  // an incomplete granule gives no output (a transform); else its first position is enough (a
                       // decimator)
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

/// What a stage gets about its inputs when the plan is made, and what it sets about its outputs.
struct ShapeContext {
  std::span<const PortShape> in;
  std::span<PortShape> out;        // preset to the first input's shape
  std::span<Footprint> footprint;  // one per input
  std::int64_t most_new = 1;       // at most this many new positions of the first input in a block
  std::size_t scratch_bytes = 0;   // private to the stage, one per lane
  std::size_t carry_bytes = 0;     // state passed from block to block, in order; makes the stage sequential. The stage
                                   // gets the state before output position first_new and leaves that before end_new.
  bool chunk_exempt = false;       // an option makes the result depend on how the stream is cut
  const Section& section;          // takes problems: section.problem("size", "…")
};

/// One port of one block, in memory.
struct PortIo {
  std::byte* data = nullptr;  // row 0, position `first`
  std::int64_t first = 0;     // absolute position
  std::int64_t length = 0;    // positions that exist (in) or must be made (out); `counted`: the maximum
  std::int64_t pitch = 0;     // bytes from row to row
  std::int64_t rows = 1;
  std::int64_t item = 1;                   // elements of one position
  std::int32_t* count = nullptr;           // counted and block: the number of items; written by the stage
  const std::int64_t* first_at = nullptr;  // `first` again, in memory that a device can read

  std::int64_t end() const noexcept { return first + length; }
  /// The first element of a row; null if the output is left out.
  template <class T> T* row(std::int64_t r = 0) const noexcept {
    return data == nullptr ? nullptr : reinterpret_cast<T*>(data + r * pitch);
  }
  /// Writes the numbers of a tally.
  void put_tally(std::span<const std::int64_t> numbers) const noexcept {
    std::ranges::copy(numbers, row<std::int64_t>());
    *count = 1;
  }
  /// [row][position · item]
  template <class T> View<T, 2> as() const noexcept {
    return View<T, 2>(reinterpret_cast<T*>(data), {rows, length * item}, pitch / static_cast<std::int64_t>(sizeof(T)));
  }
};

/// Everything that a stage gets for one block.
struct StageIo {
  std::span<const PortIo> in;
  std::span<const PortIo> out;
  std::int64_t first_new = 0;  // of input 0: the first position that is new in this block and exists
  std::int64_t end_new = 0;    // not before first_new
  std::byte* scratch = nullptr;
  std::byte* device_scratch = nullptr;
  std::byte* carry = nullptr;
  bool fresh = false;                  // with a carry: this block follows a gap or the start
  const SampleBlock* block = nullptr;  // in memory that a device can read, as `first_at`
  bool* failed = nullptr;              // on the host, see `fail`

  /// This stage could not compute the block: its results are missing, and so is what later stages make of them. Its
  /// tally and its levels count. It has written its outputs nevertheless, zeros for instance, since later stages read
  /// them.
  void fail() const noexcept {
    if (failed) *failed = true;
  }

  /// New positions that all inputs have, for streams of one rate: earlier stages may make them begin and end apart.
  Positions new_in_all() const noexcept {
    Positions all{first_new, end_new};
    for (const PortIo& port : in) all = {std::max(all.first, port.first), std::min(all.end, port.end())};
    all.end = std::max(all.first, all.end);
    return all;
  }
  /// What is new in the first row of input 0: the new samples, or all items if it counts them.
  template <class T> std::span<const T> new_values(bool counted) const noexcept {
    const std::int64_t begin = counted ? 0 : first_new - in[0].first;
    const std::int64_t stop = counted ? *in[0].count : end_new - in[0].first;
    return {in[0].row<const T>() + begin, static_cast<std::size_t>(stop - begin)};
  }
};

/// A configured stage, ready for one backend. One instance serves all lanes at once, so it keeps no state between
/// blocks.
class StageRun {
 public:
  virtual ~StageRun() = default;
  /// Computes every requested output position, or enqueues that on the stream. Allocates nothing, never waits.
  ///
  /// Device work is captured once and replayed for many blocks. So at enqueue time, device code may use lengths,
  /// differences of positions and addresses. It must read absolute positions from `PortIo::first_at` and counts from
  /// `PortIo::count` when it runs. It writes the count of each output that is not a stream.
  virtual void enqueue(const StageIo& io, StreamView stream) const noexcept = 0;
  /// Bytes that this backend needs in `StageIo::device_scratch`, which is aligned to 256.
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
  /// After `shape`. Throws SetupError if the backend cannot run it.
  virtual std::unique_ptr<StageRun> make(Backend& backend) const = 0;

  /// After `shape`: what it needs besides memory of the lanes: processes, descriptors.
  virtual Needs needs() const { return {}; }

  /// Whether it computes its outputs element by element: all its inputs and outputs have the same rows, positions and
  /// items.
  virtual bool is_elementwise() const { return false; }
  /// The code of an element-wise stage, after `shape`. Null if the keys or shapes do not allow it.
  virtual std::unique_ptr<ElementCode> elements() const { return nullptr; }

  // For a stage that runs a user's program: its keys decide which inputs it has, and a compiler checks the program.
  // Other stages have no program.

  virtual bool has_program() const { return false; }
  /// After the keys are read, before anything else: reads the program. False, with problems, if it is wrong. A second
  /// call does nothing.
  virtual bool load(const Section& /*section*/) { return true; }
  /// Before `load`: uses the program that another stage of the same entry has read, instead of reading one.
  virtual void keep_program(const Stage& /*of*/) {}
  /// After `load`: the text that was read, to see whether a file differs from the one that runs.
  virtual std::string program() const { return {}; }
  /// After `load`: the stage's inputs: the entry's, unless a program has others.
  virtual std::vector<InputSpec> inputs(const StageEntry& entry) const;
  /// After `shape`: compiler errors become problems, with their places in the program. Opens no device.
  virtual void compile(bool /*for_device*/, const Section& /*section*/) {}
  /// After `compile`: why it could not be compiled for the place where it will run; empty if it was.
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

/// Which element types an input takes. The planner converts a sc16 stream for an input that takes cf32.
struct InputSpec {
  std::string_view name;
  std::vector<Element> elements;
  std::string_view dims = "[n]";  // as in the documentation; the first of n t vector packet frame is the axis
  bool optional = false;          // connected by name only; tests of all stages leave it out if it has no example
  bool one_channel = false;
  bool nested = false;            // of items: any dimensions after the axis; those written are the usual ones
  bool variance = false;          // its values are not negative
  bool reread = false;            // read more than once: a device should get a copy instead of the host's memory
  std::vector<Dim> example = {};  // of items: an example that matches the sample's keys

  bool takes(Element e) const noexcept;
  /// The name of the first dimension, `packet` of `[packet][sample]`.
  std::string_view axis_name() const noexcept;
  /// Takes counted items, such as `[packet][sample]` and `[vector][rx]`, not a stream.
  bool items() const noexcept;
  /// The first dimension is a stream or counts items; else there is one array per block, such as `[bin]`.
  bool has_axis() const noexcept;
  /// The shape that tests and benchmarks use: single samples, or items like the example.
  PortShape example_shape(Element element, std::int64_t length) const;
};

struct OutputSpec {
  std::string_view name;
  std::string_view fact = {};  // header key that publishes each item's value, on every port with these items
  bool can_omit = false;       // if nothing reads it, PortIo::data is null and the stage leaves it out
  /// Events that are counted: the output is i64 `[event]` or `[event][kind]`, one per block. Its numbers are added up
  /// and shown to the operator, whether it is published or not.
  std::span<const std::string_view> tally = {};
  /// Levels: the output is f32 `[level]`, at most one per block, and its dimension's labels name the numbers. The last
  /// ones are shown to the operator, whether it is published or not. NaN: no value. A fact, one f32 per item, is one
  /// level with the fact's name: the mean over the block's items that have a value.
  bool levels = false;
  bool in_db = false;  // its bins are decibels; real bins of other outputs count as magnitudes
};

/// Errors of a stream's channels: one value for each channel, or none.
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
  bool host_only = false;            // has only CPU code: runs on the CPU unless its `backend` says otherwise
  double tolerance = 0;  // permitted error relative to the output's rms: CUDA against CPU, blocks against the whole
  // How to make the stages that a plan inserts itself; null for all other stages.
  std::unique_ptr<Stage> (*make_converter)(Element to) = nullptr;  // returns null if there is no conversion to it
  std::unique_ptr<Stage> (*make_resampler)(double to_hz) = nullptr;
  std::unique_ptr<Stage> (*make_aligner)(ChannelErrors errors) = nullptr;  // corrects while the source is calibrated
};

/// `StageEntry::make` for a stage of this class.
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

/// The entry with the inputs that the stage has with these keys (YAML). If the stage runs a program, mistakes in the
/// keys or in the program become problems; mistakes of other stages are reported when the stage is made.
StageEntry configured(const StageEntry& entry, const std::string& keys, Problems& problems);

/// For `make` of a stage that has only CPU code: throws SetupError with this message for any other backend.
void require_cpu(const Backend& backend, const char* message);

/// All stages, in the order of stages.def.
std::span<const StageEntry> all_stages();
const StageEntry* find_stage(std::string_view name, std::span<const StageEntry> stages = all_stages());
/// The stage that can be made in this way, e.g. `&StageEntry::make_converter`.
template <class Make> const StageEntry* find_stage(Make StageEntry::*way, std::span<const StageEntry> stages) {
  const auto at = std::ranges::find_if(stages, [way](const StageEntry& e) { return e.*way != nullptr; });
  return at == stages.end() ? nullptr : &*at;
}

}  // namespace iqd
