// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/bell.hpp"
#include "pipeline/plan/positions.hpp"
#include "pipeline/stage/stage.hpp"
#include "tests/support/element_stages.hpp"
#include "tests/support/fake_device.hpp"

/// Stages for tests of the planner and the engine, without signal processing: words of 32 bits, so that every result is
/// exact and a missing, duplicate or misplaced sample shows. On a fake device they do the same.
namespace iqd::testing {

using Word = std::int32_t;

/// The weight of a window's tap k for the j-th position of a granule. Odd, so that no sample vanishes.
inline std::uint32_t weight(std::int64_t k, std::int64_t j) noexcept {
  return (static_cast<std::uint32_t>(k + 1000) * 2654435761u + static_cast<std::uint32_t>(j) * 40503u) | 1u;
}

/// A window stage's result: a weighted sum over its footprint, with zero for samples that do not exist.
struct WindowShape {
  std::int64_t past = 0;
  std::int64_t future = 0;
  std::int64_t granule = 1;
  std::int64_t yield = 1;
  bool whole = false;

  Footprint footprint() const noexcept { return {past, future, granule, yield, whole}; }
  /// Output position p for samples from `read(n)`.
  template <class Read> Word at(std::int64_t p, Read&& read) const noexcept {
    const std::int64_t base = whole ? p / yield * granule : p * granule / yield;
    const std::int64_t last = whole ? granule - 1 + future : future;
    std::uint32_t sum = 0;
    for (std::int64_t k = -past; k <= last; ++k)
      sum += weight(k, p % yield) * static_cast<std::uint32_t>(read(base + k));
    return static_cast<Word>(sum);
  }
};

/// Not by a view: one for each word took 40 % of the time of tests without optimization.
inline Word word_at(const PortIo& io, std::int64_t row, std::int64_t position) noexcept {
  if (position < io.first || position >= io.end()) return 0;
  return io.row<Word>(row)[position - io.first];
}

class WordStage : public Stage {
 public:
  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (backend.kind() != BackendKind::cpu) {
      EXPECT_EQ(FakeDevice::in_use(), &backend) << "made while another device was in use";
      return fake_run(backend, [this](const StageIo& io) noexcept { run(io); });
    }
    return cpu_run([this](const StageIo& io) noexcept {
      expect_on_host(io);
      run(io);
    });
  }
  void fields(FieldVisitor&) override {}
  void shape(ShapeContext&) override {}
  virtual void run(const StageIo& io) const noexcept = 0;
};

class WindowStage final : public WordStage {
 public:
  void fields(FieldVisitor& v) override {
    v.field("past", shape_.past, {.help = "samples before"});
    v.field("future", shape_.future, {.help = "samples after"});
    v.field("granule", shape_.granule, {.help = "samples per granule", .low = 1});
    v.field("yield", shape_.yield, {.help = "results per granule", .low = 1});
    v.field("whole", shape_.whole, {.help = "needs whole granules"});
  }
  void shape(ShapeContext& context) override {
    context.footprint[0] = shape_.footprint();
    context.out[0].rate_hz *= static_cast<double>(shape_.yield) / static_cast<double>(shape_.granule);
  }
  void run(const StageIo& io) const noexcept override {
    const PortIo& out = io.out[0];
    for (std::int64_t row = 0; row < out.rows; ++row)
      for (std::int64_t p = out.first; p < out.end(); ++p)
        out.row<Word>(row)[p - out.first] = shape_.at(p, [&](std::int64_t n) { return word_at(io.in[0], row, n); });
  }
  WindowShape shape_;
};

/// out = in0 + 3 in1.
class SumStage final : public WordStage {
 public:
  void run(const StageIo& io) const noexcept override {
    const PortIo& out = io.out[0];
    for (std::int64_t row = 0; row < out.rows; ++row)
      for (std::int64_t p = out.first; p < out.end(); ++p)
        out.row<Word>(row)[p - out.first] =
            static_cast<Word>(static_cast<std::uint32_t>(word_at(io.in[0], row, p)) +
                              3u * static_cast<std::uint32_t>(word_at(io.in[1], row, p)));
  }
};

/// The sum of all samples since the stream began or a gap, and `start`: state that flows from block to block.
class RunningStage final : public WordStage {
 public:
  void fields(FieldVisitor& v) override { v.field("start", start_, {.help = "the sum before the first sample"}); }
  void shape(ShapeContext& context) override {
    context.carry_bytes = sizeof(std::uint32_t) * static_cast<std::size_t>(context.in[0].row_count());
  }
  void run(const StageIo& io) const noexcept override {
    auto* sums = reinterpret_cast<std::uint32_t*>(io.carry);
    const PortIo& out = io.out[0];
    for (std::int64_t row = 0; row < out.rows; ++row) {
      // Even if the block is too short for a position.
      if (io.fresh) sums[row] = static_cast<std::uint32_t>(start_);
      std::uint32_t sum = sums[row];
      for (std::int64_t p = out.first; p < out.end(); ++p) {
        out.row<Word>(row)[p - out.first] =
            static_cast<Word>(sum += static_cast<std::uint32_t>(word_at(io.in[0], row, p)));
        if (p + 1 == io.end_new) sums[row] = sum;
      }
    }
  }

 private:
  std::int64_t start_ = 0;
};

/// Passes on its input while the test's door is open. Waits a little in each block if configured.
class GateStage final : public WordStage {
 public:
  struct Door {
    Bell bell;
    std::atomic<bool> open{true};
    std::atomic<int> inside{0};
    std::atomic<std::uint32_t> jitter_us{0};

    void set(bool is_open) {
      open = is_open;
      bell.ring();
    }
  };
  static Door& door() {
    static Door instance;
    return instance;
  }
  void run(const StageIo& io) const noexcept override {
    Door& d = door();
    ++d.inside;
    d.bell.wait_until([&] { return d.open.load(); });
    if (const std::uint32_t jitter = d.jitter_us)
      std::this_thread::sleep_for(
          std::chrono::microseconds(static_cast<std::uint32_t>(io.first_new) * 2654435761u % jitter));
    --d.inside;
    const PortIo& out = io.out[0];
    for (std::int64_t row = 0; row < out.rows; ++row)
      for (std::int64_t p = out.first; p < out.end(); ++p)
        out.row<Word>(row)[p - out.first] = word_at(io.in[0], row, p);
  }
};

/// The samples of a block's new part that `divisor` divides, and their positions.
class PickStage final : public WordStage {
 public:
  void fields(FieldVisitor& v) override {
    v.field("divisor", divisor_, {.help = "of the picked samples", .low = 1, .live = true});
    v.field("most", most_, {.help = "in a block", .low = 1});
  }
  void shape(ShapeContext& context) override {
    of_counted_ = context.in[0].axis == Axis::counted;
    for (PortShape& out : context.out) {
      out.axis = Axis::counted;
      out.axis_name = "find";
      out.most = most_;
    }
    if (context.out.size() > 1) context.out[1].element = Element::i64, context.out[1].rows.clear();
  }
  void run(const StageIo& io) const noexcept override {
    std::int32_t n = 0;
    const std::int64_t end = of_counted_ ? *io.in[0].count : io.end_new;
    for (std::int64_t p = io.first_new; p < end && n < most_; ++p) {
      if (word_at(io.in[0], 0, p) % divisor_ != 0) continue;
      for (std::int64_t row = 0; row < io.out[0].rows; ++row) io.out[0].as<Word>()(row, n) = word_at(io.in[0], row, p);
      if (io.out.size() > 1) io.out[1].as<std::int64_t>()(0, n) = p;
      ++n;
    }
    for (const PortIo& out : io.out) *out.count = n;
  }
  std::int64_t divisor_ = 1;
  std::int64_t most_ = 1 << 12;
  bool of_counted_ = false;
};

/// The positions of a block's even words, and how good each is, unless 4 divides it.
class GradeStage final : public WordStage {
 public:
  void shape(ShapeContext& context) override {
    for (PortShape& out : context.out) {
      out.axis = Axis::counted;
      out.axis_name = "find";
      out.most = 1 << 12;
      out.rows.clear();
    }
    context.out[1].element = Element::f32;
  }
  void run(const StageIo& io) const noexcept override {
    std::int32_t n = 0;
    for (std::int64_t p = io.first_new; p < io.end_new; ++p) {
      const Word word = word_at(io.in[0], 0, p);
      if (word % 2 != 0) continue;
      io.out[0].as<Word>()(0, n) = static_cast<Word>(p);
      io.out[1].as<float>()(0, n++) = word % 4 == 0 ? NAN : static_cast<float>(word);
    }
    for (const PortIo& out : io.out) *out.count = n;
  }
};

/// One sum per block.
class TotalStage final : public WordStage {
 public:
  void shape(ShapeContext& context) override { context.out[0].axis = Axis::block; }
  void run(const StageIo& io) const noexcept override {
    for (std::int64_t row = 0; row < io.out[0].rows; ++row) {
      std::uint32_t sum = 0;
      for (std::int64_t p = io.first_new; p < io.end_new; ++p)
        sum += static_cast<std::uint32_t>(word_at(io.in[0], row, p));
      io.out[0].as<Word>()(row, 0) = static_cast<Word>(sum);
    }
  }
};

/// Counts even and odd words of each row.
class ParityStage final : public WordStage {
 public:
  static constexpr std::string_view kEvents[] = {"even", "odd"};
  void shape(ShapeContext& context) override {
    PortShape& out = context.out[0];
    const std::int64_t rows = context.in[0].row_count();
    out.element = Element::i64;
    out.axis = Axis::block;
    out.rows.clear();
    out.item = {{"event", 2}, {"row", rows, {"first"}}};
  }
  void run(const StageIo& io) const noexcept override {
    auto* counts = reinterpret_cast<std::int64_t*>(io.out[0].data);
    std::fill_n(counts, io.out[0].item, 0);
    for (std::int64_t row = 0; row < io.in[0].rows; ++row)
      for (std::int64_t p = io.first_new; p < io.end_new; ++p)
        ++counts[(word_at(io.in[0], row, p) & 1) * io.in[0].rows + row];
  }
};

/// The smallest and the largest word of each row; nothing for blocks whose first word is odd.
class ExtremesStage final : public WordStage {
 public:
  void shape(ShapeContext& context) override {
    PortShape& out = context.out[0];
    out.element = Element::f32;
    out.axis = Axis::block;
    out.item = {{"level", 2, {"least", "largest"}}};
  }
  void run(const StageIo& io) const noexcept override {
    const PortIo& out = io.out[0];
    *out.count = (word_at(io.in[0], 0, io.first_new) & 1) == 0 ? 1 : 0;
    for (std::int64_t row = 0; row < out.rows; ++row) {
      Word least = word_at(io.in[0], row, io.first_new), largest = least;
      for (std::int64_t p = io.first_new; p < io.end_new; ++p) {
        least = std::min(least, word_at(io.in[0], row, p));
        largest = std::max(largest, word_at(io.in[0], row, p));
      }
      out.as<float>()(row, 0) = static_cast<float>(least);
      out.as<float>()(row, 1) = static_cast<float>(largest);
    }
  }
};

/// Passes on its input, except that it cannot compute every n-th block, which it counts.
class FailingStage final : public WordStage {
 public:
  static constexpr std::string_view kEvents[] = {"failures"};
  void fields(FieldVisitor& v) override {
    v.field("every", every_, {.help = "which blocks it cannot compute", .low = 1});
  }
  void shape(ShapeContext& context) override { context.out[1].tally(kEvents); }
  void run(const StageIo& io) const noexcept override {
    const bool fails = io.block->seq % static_cast<std::uint64_t>(every_) == 1;
    if (fails) io.fail();
    const PortIo& out = io.out[0];
    for (std::int64_t row = 0; row < out.rows; ++row)
      for (std::int64_t p = out.first; p < out.end(); ++p)
        out.row<Word>(row)[p - out.first] = fails ? 0 : word_at(io.in[0], row, p);
    io.out[1].put_tally(std::array<std::int64_t, 1>{fails});
  }
  std::int64_t every_ = 1 << 30;
};

/// The planner's converter between types. Casts; supports only these three.
class CastStage final : public WordStage {
 public:
  enum class To : int { cf32, f32, i32 };
  friend std::span<const std::string_view> enum_names(To) {
    static constexpr std::string_view names[] = {"cf32", "f32", "i32"};
    return names;
  }
  static std::unique_ptr<Stage> make_converter(Element to) {
    auto stage = std::make_unique<CastStage>();
    const auto names = enum_names(To{});
    const auto at = std::ranges::find(names, name_of(to));
    if (at == names.end()) return nullptr;
    stage->to_ = static_cast<To>(at - names.begin());
    return stage;
  }
  void fields(FieldVisitor& v) override { v.field("dtype", to_, {.help = "element type", .required = true}); }
  void shape(ShapeContext& context) override {
    from_ = context.in[0].element;
    context.out[0].element = element();
    if (traits(from_).complex != traits(element()).complex) context.section.problem("dtype", "cannot be cast");
  }
  Element element() const { return *element_named(enum_names(to_)[static_cast<std::size_t>(to_)]); }
  void run(const StageIo& io) const noexcept override {
    const PortIo& out = io.out[0];
    for (std::int64_t row = 0; row < out.rows; ++row)
      for (std::int64_t n = 0; n < out.length * out.item; ++n)
        cast(io, row, n, (out.first - io.in[0].first) * out.item);
  }

 private:
  void cast(const StageIo& io, std::int64_t row, std::int64_t n, std::int64_t shift) const noexcept {
    if (to_ == To::cf32) {
      const sc16 x = io.in[0].as<sc16>()(row, n + shift);
      io.out[0].as<cf32>()(row, n) = {static_cast<float>(x.re), static_cast<float>(x.im)};
    } else if (to_ == To::f32) {
      io.out[0].as<float>()(row, n) = static_cast<float>(io.in[0].as<Word>()(row, n + shift));
    } else {
      io.out[0].as<Word>()(row, n) = static_cast<Word>(io.in[0].as<float>()(row, n + shift));
    }
  }
  To to_ = To::f32;
  Element from_ = Element::i32;
};

/// Takes cf32 only, so that the planner has to convert; passes on.
class ComplexStage final : public WordStage {
 public:
  void run(const StageIo& io) const noexcept override {
    const PortIo& in = io.in[0];
    for (std::int64_t row = 0; row < in.rows; ++row)
      for (std::int64_t p = io.out[0].first; p < io.out[0].end(); ++p)
        io.out[0].as<cf32>()(row, p - io.out[0].first) = in.as<cf32>()(row, p - in.first);
  }
};

inline std::span<const StageEntry> word_stages() {
  using enum Element;
  static const std::vector<Element> words{i32};
  static const std::vector<StageEntry> table{
      {"test", "window", "", {{"in", words}}, {{"out"}}, make_stage<WindowStage>, "window: {}"},
      {"test", "sum", "", {{"in0", words}, {"in1", words}}, {{"out"}}, make_stage<SumStage>, "sum: {}"},
      {"test", "running", "", {{"in", words}}, {{"out"}}, make_stage<RunningStage>, "running: {}"},
      {"test", "gate", "", {{"in", words}}, {{"out"}}, make_stage<GateStage>, "gate: {}"},
      {"test",
       "parity",
       "",
       {{"in", words}},
       {{.name = "counts", .tally = ParityStage::kEvents}},
       make_stage<ParityStage>,
       "parity: {}"},
      {"test",
       "extremes",
       "",
       {{"in", words}},
       {{.name = "levels", .levels = true}},
       make_stage<ExtremesStage>,
       "extremes: {}"},
      {"test",
       "grade",
       "",
       {{"in", words}},
       {{"finds"}, {.name = "quality", .fact = "grade", .levels = true}},
       make_stage<GradeStage>,
       "grade: {}"},
      {"test",
       "failing",
       "",
       {{"in", words}},
       {{"out"}, {.name = "events", .tally = FailingStage::kEvents}},
       make_stage<FailingStage>,
       "failing: {}",
       /*host_only=*/true},
      {"test", "pick", "", {{"in", words}}, {{"finds"}, {"start", "start", true}}, make_stage<PickStage>, "pick: {}"},
      {"test", "pick_bare", "", {{"in", words}}, {{"finds"}}, make_stage<PickStage>, "pick_bare: {}"},
      {"test",
       "pick_more",
       "",
       {{"in", words}, {"finds", words, "[find]", true}},
       {{"out"}},
       make_stage<PickStage>,
       "pick_more: {}"},
      {"test", "total", "", {{"in", words}}, {{"out"}}, make_stage<TotalStage>, "total: {}"},
      {"test", "use_finds", "", {{"finds", words, "[find]"}}, {{"out"}}, make_stage<PickStage>, "use_finds: {}"},
      {"test",
       "convert",
       "",
       {{"in", {sc16, i32, f32}, "any"}},
       {{"out"}},
       make_stage<CastStage>,
       "convert: {}",
       false,
       0,
       CastStage::make_converter},
      {"test", "complex", "", {{"in", {cf32}}}, {{"out"}}, make_stage<ComplexStage>, "complex: {}"},
      {"test", "scale", "", {{"in", words, "any"}}, {{"out"}}, make_stage<ScaleStage>, "scale: {}"},
      {"test",
       "mix",
       "",
       {{"in0", words, "any"}, {"in1", words, "any"}},
       {{"out"}},
       make_stage<PlainElementStage<MixCode>>,
       "mix: {}"},
      {"test",
       "halves",
       "",
       {{"in", words, "any"}},
       {{"low"}, {"high"}},
       make_stage<PlainElementStage<HalvesCode>>,
       "halves: {}"},
  };
  return table;
}

}  // namespace iqd::testing
