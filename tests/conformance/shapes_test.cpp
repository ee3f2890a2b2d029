// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Every stage must refuse shapes that it was not made for, or give complete output. The tests go through stages.def, so
// a new stage needs no code here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <random>

#include "base/error.hpp"
#include "config/document.hpp"
#include "daemon/command/array_port.hpp"
#include "daemon/command/commands.hpp"
#include "pipeline/spec_plan.hpp"
#include "pipeline/stage/element_code.hpp"
#include "tests/conformance/one_stage.hpp"
#include "tests/conformance/stage_input.hpp"

namespace iqd::conformance {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;
using Inputs = std::vector<StageInput>;

/// Repeats the input's data to the size that its shape needs.
void fill(StageInput& in) {
  const std::vector<std::byte> pattern = in.data;
  in.data.assign(static_cast<std::size_t>(in.row_bytes() * in.shape.row_count()), std::byte{0});
  for (std::size_t at = 0; at < in.data.size() && !pattern.empty(); at += pattern.size())
    std::memcpy(in.data.data() + at, pattern.data(), std::min(pattern.size(), in.data.size() - at));
}

class Shapes : public ::testing::TestWithParam<const StageEntry*> {
 protected:
  static const StageEntry& entry() { return *GetParam(); }
  static bool is_elementwise() { return entry().make()->is_elementwise(); }
  static std::int64_t length() { return entry().inputs.front().items() ? 4 : 2000; }
  static Inputs good() { return inputs_for(entry(), element(), 1, length(), Signal::noise); }
  static Element element() { return entry().inputs.front().elements.front(); }

  /// Returns the problems, or nothing if the stage ran; then all outputs must have the length that they state.
  static std::string refusal(Inputs inputs, std::int64_t block = 0) {
    Problems problems;
    StageRunner runner(entry(), keys_for(entry(), element()), std::move(inputs), block, "cpu", problems);
    std::string text;
    for (const Problem& p : problems) text += p.text() + "\n";
    if (!problems.empty()) return text;
    for (const StageOutput& out : runner.run()) {
      EXPECT_EQ(std::ssize(out.rows), out.shape.row_count()) << out.name;
      for (const auto& row : out.rows) EXPECT_EQ(std::ssize(row), out.length * out.shape.item_bytes()) << out.name;
    }
    return {};
  }

  /// Tries a change on each input while the others are good.
  static void on_each_input(const std::function<void(Inputs inputs, std::size_t changed)>& attempt) {
    for (std::size_t i = 0; i < good().size(); ++i) {
      SCOPED_TRACE(fmt::format("input '{}'", entry().inputs[i].name));
      attempt(good(), i);
    }
  }
  static void expect_refused(Inputs inputs, const std::string& what) {
    SCOPED_TRACE(what);
    EXPECT_NE(refusal(std::move(inputs)), "");
  }
};

TEST_P(Shapes, GoodOnesRun) {
  EXPECT_EQ(refusal(good()), "");
}

/// The live page takes other real bins for magnitudes. A stage that makes such bins of samples needs an exception here.
TEST_P(Shapes, RealBinsOfSamplesAreMarkedAsDecibels) {
  if (entry().inputs.front().items()) return;
  Problems problems;
  StageRunner runner(entry(), keys_for(entry(), element()), good(), 0, "cpu", problems);
  ASSERT_TRUE(problems.empty());
  for (const StageOutput& out : runner.run()) {
    const auto output = std::ranges::find(entry().outputs, out.name, &OutputSpec::name);
    ASSERT_NE(output, entry().outputs.end()) << out.name;
    const bool is_real = out.shape.element == Element::f32 || out.shape.element == Element::f16;
    EXPECT_EQ(output->in_db, is_real && !out.shape.item.empty() && out.shape.item.back().name == "bin") << out.name;
  }
}

TEST_P(Shapes, NoItemsGiveNothing) {
  Inputs none = inputs_for(entry(), element(), 1, 0, Signal::noise);
  for (const std::int64_t block : {0, 1, 3}) EXPECT_EQ(refusal(none, block), "");
  on_each_input([](Inputs inputs, std::size_t i) {
    inputs[i].length = 0;
    fill(inputs[i]);
    for (const std::int64_t block : {0, 1, 3}) refusal(inputs, block);
  });
}

TEST_P(Shapes, EmptyDimensionsAreRefused) {
  on_each_input([](const Inputs& inputs, std::size_t i) {
    const auto with = [&](const std::function<void(PortShape&)>& change) {
      Inputs changed = inputs;
      change(changed[i].shape);
      changed[i].data.clear();
      return changed;
    };
    for (const std::int64_t extent : {std::int64_t{0}, std::int64_t{-1}, -kHuge}) {
      expect_refused(with([&](PortShape& s) { s.rows = {{"channel", extent}}; }), fmt::format("{} channels", extent));
      expect_refused(with([&](PortShape& s) { s.rows = {{"a", 2}, {"b", extent}}; }), fmt::format("2 x {}", extent));
      for (std::size_t d = 0; d < inputs[i].shape.item.size(); ++d)
        expect_refused(with([&](PortShape& s) { s.item[d].extent = extent; }),
                       fmt::format("{} of [{}]", extent, inputs[i].shape.item[d].name));
      expect_refused(with([&](PortShape& s) { s.item.push_back({"more", extent}); }), fmt::format("[more {}]", extent));
    }
  });
}

TEST_P(Shapes, ProductsBeyondMemoryAreRefused) {
  on_each_input([](const Inputs& inputs, std::size_t i) {
    const auto with = [&](const std::function<void(StageInput&)>& change) {
      Inputs changed = inputs;
      change(changed[i]);
      return changed;
    };
    for (const std::int64_t extent : {kHuge, std::int64_t{1} << 33, std::numeric_limits<std::int64_t>::max()}) {
      const std::string what = fmt::format("{}", extent);
      expect_refused(with([&](StageInput& in) { in.shape.rows = {{"channel", extent}, {"b", extent}}; }), what);
      expect_refused(with([&](StageInput& in) { in.length = in.shape.most = extent; }), what + " long");
      expect_refused(with([&](StageInput& in) { in.shape.item = {{"a", extent}, {"b", extent}}; }), what + " items");
      for (std::size_t d = 0; d < inputs[i].shape.item.size(); ++d)
        expect_refused(with([&](StageInput& in) { in.shape.item[d].extent = extent; }), what + " in an item");
    }
    expect_refused(with([](StageInput& in) { in.length = -1; }), "length -1");
  });
}

TEST_P(Shapes, OtherTypesAreRefused) {
  on_each_input([](const Inputs& inputs, std::size_t i) {
    const InputSpec& spec = entry().inputs[i];
    for (const ElementTraits& t : kElements) {
      if (spec.takes(t.element) || (t.element == Element::sc16 && spec.takes(Element::cf32))) continue;
      Inputs changed = inputs;
      changed[i].shape.element = t.element;
      fill(changed[i]);
      // A kernel's keys decide which types it takes.
      if (entry().name != "kernel" || t.element != Element::cf32) expect_refused(changed, std::string(t.name));
    }
    Inputs changed = inputs;
    changed[i].shape.element = static_cast<Element>(200);
    expect_refused(changed, "no type");
  });
}

TEST_P(Shapes, RatesThatAreNoNumbersAreRefused) {
  on_each_input([](const Inputs& inputs, std::size_t i) {
    for (const double rate : {-1.0, std::nan(""), HUGE_VAL}) {
      Inputs changed = inputs;
      changed[i].shape.rate_hz = rate;
      expect_refused(changed, fmt::format("{} a second", rate));
    }
  });
}

/// Side-by-side streams must be equally long, and so must items of one kind; element-wise stages use the shortest.
TEST_P(Shapes, UnequalInputsAreRefused) {
  on_each_input([](const Inputs& inputs, std::size_t i) {
    if (i == 0) return;
    const InputSpec &first = entry().inputs.front(), &spec = entry().inputs[i];
    const bool side_by_side = first.items() == spec.items() && first.axis_name() == spec.axis_name();
    for (const std::int64_t length :
         {std::int64_t{1}, inputs[i].length / 2, inputs[i].length - 1, inputs[i].length + 1, 2 * inputs[i].length}) {
      Inputs changed = inputs;
      changed[i].length = changed[i].shape.most = length;
      fill(changed[i]);
      SCOPED_TRACE(length);
      const std::string text = refusal(changed) + refusal(changed, 3);
      if (is_elementwise()) {
        EXPECT_EQ(text, "");
      } else if (side_by_side) {
        EXPECT_NE(text, "");
      }
    }
    Inputs changed = inputs;
    changed[i].shape.rows = {{"channel", 2}};
    fill(changed[i]);
    expect_refused(changed, "two channels next to one");
  });
}

TEST_P(Shapes, MissingAndFurtherInputsAreRefused) {
  Inputs fewer = good(), more = good();
  fewer.pop_back();
  if (!entry().inputs[fewer.size()].optional) expect_refused(fewer, "one is missing");
  expect_refused({}, "all are missing");
  more.push_back(more.front());
  expect_refused(more, "one more");
}

TEST_P(Shapes, DataOfAnotherLengthAreRefused) {
  on_each_input([](Inputs inputs, std::size_t i) {
    inputs[i].data.pop_back();
    expect_refused(inputs, "a byte less");
    inputs[i].data.resize(inputs[i].data.size() + 2);
    expect_refused(inputs, "a byte more");
  });
}

/// The stage decides which are refused. The address sanitizer finds accesses out of bounds.
TEST_P(Shapes, OddOnesAreRefusedOrComputed) {
  for (const std::int64_t length : {1, 2, 3, 5})
    for (const std::int64_t block : {0, 1, 2, 3, 7})
      EXPECT_EQ(refusal(inputs_for(entry(), element(), 1, length, Signal::noise), block), "");
  on_each_input([](const Inputs& inputs, std::size_t i) {
    const auto attempt = [&](const std::function<void(StageInput&)>& change) {
      Inputs changed = inputs;
      change(changed[i]);
      fill(changed[i]);
      for (const std::int64_t block : {0, 1, 3}) refusal(changed, block);
    };
    attempt([](StageInput& in) { in.shape.rows = {{"channel", 1}}; });
    attempt([](StageInput& in) { in.shape.rows = {{"channel", 3}}; });
    attempt([](StageInput& in) { in.shape.rows = {{"a", 1}, {"b", 2}}; });
    attempt([](StageInput& in) { in.shape.item.clear(); });
    attempt([](StageInput& in) { in.shape.item.insert(in.shape.item.begin(), {"more", 2}); });
    attempt([](StageInput& in) { in.shape.item.push_back({"more", 3}); });
    for (const Axis axis : {Axis::stream, Axis::counted, Axis::block})
      attempt([&](StageInput& in) {
        in.shape.axis = axis;
        in.length = axis == Axis::block ? 1 : in.length;
      });
    for (std::size_t d = 0; d < inputs[i].shape.item.size(); ++d)
      for (const std::int64_t extent :
           {std::int64_t{1}, inputs[i].shape.item[d].extent - 1, inputs[i].shape.item[d].extent + 1, std::int64_t{33}})
        if (extent > 0) attempt([&](StageInput& in) { in.shape.item[d].extent = extent; });
  });
}

/// Several changes at once, on all inputs.
TEST_P(Shapes, AnyMixtureIsRefusedOrComputed) {
  std::mt19937 random(20240611);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (int round = 0; round < 60; ++round) {
    Inputs inputs = good();
    for (StageInput& in : inputs) {
      if (below(2) == 0) in.length = in.shape.most = below(9);
      if (below(4) == 0) in.shape.rows = {{"channel", below(4)}};
      for (Dim& d : in.shape.item)
        if (below(3) == 0) d.extent = below(6);
      if (below(6) == 0) in.shape.item.push_back({"more", below(3)});
      if (below(8) == 0) in.shape.axis = static_cast<Axis>(below(3));
      if (below(8) == 0) in.shape.element = kElements[static_cast<std::size_t>(below(std::size(kElements)))].element;
      fill(in);
    }
    refusal(std::move(inputs), below(4));
  }
}

/// Behind a stage that makes whole frames, not all new samples exist at an end or in blocks shorter than a frame.
TEST_P(Shapes, BehindWholeFramesItReadsOnlyWhatIsThere) {
  const InputSpec& input = entry().inputs.front();
  if (entry().inputs.size() != 1 || input.items() || !input.takes(Element::cf32)) GTEST_SKIP() << "reads no samples";
  StageInput bits;
  bits.shape.element = Element::u8;
  bits.shape.rate_hz = bits.shape.source_rate_hz = 1e6 * 120 / 512;  // 120 bits make 512 samples
  bits.length = 1009;
  bits.data.assign(1009, std::byte{1});
  StageRunner::Options options;
  options.behind = {{&entry(), keys_for(entry(), Element::cf32)}};
  const std::string frames =
      "{fft: 64, carriers: 24, prefix: 9, frame: 512, users: 1, training: 2, pilots: 40, data: 60}";
  for (const std::int64_t block : {0, 1, 7, 100, 1000}) {
    Problems problems;
    StageRunner runner(*find_stage("noma_modulator"), frames, {bits}, block, "cpu", problems, options);
    for (const Problem& p : problems) EXPECT_EQ(p.text(), "") << "blocks of " << block;
    if (problems.empty()) {
      EXPECT_FALSE(runner.run().empty());
    }
  }
}

std::vector<const StageEntry*> all_entries() {
  std::vector<const StageEntry*> all;
  for (const StageEntry& e : all_stages()) all.push_back(&e);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Stages, Shapes, ::testing::ValuesIn(all_entries()),
                         [](const auto& instance) { return std::string(instance.param->name); });

std::string problems_of(const std::string& stages) {
  Problems problems;
  const std::string text = "source: {generate: {rate: 1 MS/s}}\nstages:\n" + stages;
  const Spec spec = read_spec(parse_document(text, "a.yaml", problems), catalogue(), problems);
  if (problems.empty()) check_spec(spec, catalogue(), problems);
  std::string all;
  for (const Problem& p : problems) all += p.text() + "\n";
  return all;
}

TEST(Inputs, OfTheSameItemsComeFromOneStage) {
  const std::string searches =
      "- preamble_search: {name: a, from: source}\n- preamble_search: {name: b, from: source}\n"
      "- packet_estimator: {name: of_a, from: a.windows}\n"
      "- packet_estimator: {name: of_b, from: b.windows}\n";
  EXPECT_EQ(problems_of(searches + "- equalizer: {kinds: [zf], from: {windows: of_a.windows, channel: of_a.channel, "
                                   "noise: of_a.noise}}\n"),
            "");
  EXPECT_EQ(problems_of(searches + "- equalizer: {kinds: [zf], from: {windows: of_a.windows, channel: of_b.channel, "
                                   "noise: of_a.noise}}\n"),
            "a.yaml:7:14 stages[4].equalizer: its inputs 'windows' and 'channel' must have the same [packet], but "
            "different stages find those of of_a.windows and of_b.channel; take both downstream of one stage\n");
}

TEST(Inputs, OfOneStageHaveOneRate) {
  EXPECT_EQ(problems_of("- fir: {taps: [1], decimation: 2}\n"
                        "- aph_estimator: {samples: 65536, from: {sent: source, received: fir.out}}\n"),
            "a.yaml:4:18 stages[1].aph_estimator: needs both inputs at one rate; sent has 1 MS/s, received 500 "
            "kS/s\n");
}

/// Arrays from files, as for `iqd exec`.
class Arrays : public Shapes {
 protected:
  static NpyArray array_of(const std::string& dtype, std::vector<std::int64_t> shape) {
    NpyArray array{dtype, std::move(shape), {}};
    array.data.assign(static_cast<std::size_t>(array.size()) * npy_item_bytes(dtype), std::byte{1});
    return array;
  }
  static NpyArray array_of(const StageInput& in) {
    std::vector<std::int64_t> shape{in.length};
    for (const Dim& d : in.shape.item) shape.push_back(d.extent);
    if (in.shape.element == Element::sc16) shape.push_back(2);
    return {std::string(traits(in.shape.element).dtype), shape, in.data};
  }
  static std::vector<NpyArray> good_arrays() {
    std::vector<NpyArray> arrays;
    for (const StageInput& in : good()) arrays.push_back(array_of(in));
    return arrays;
  }
  static std::string refusal_of(const std::vector<NpyArray>& arrays, std::int64_t block = 0) {
    try {
      const std::vector<InputSpec> given =
          agreed(arrays, std::vector<InputSpec>(entry().inputs.begin(), entry().inputs.end()));
      Inputs inputs;
      for (std::size_t i = 0; i < arrays.size(); ++i) inputs.push_back(as_input(arrays[i], given[i], 1e6));
      return refusal(std::move(inputs), block);
    } catch (const UsageError& e) {
      return e.what();
    }
  }
};

TEST_P(Arrays, OfAnyShapeAreRefusedOrComputed) {
  EXPECT_EQ(refusal_of(good_arrays()), "");
  const std::vector<std::vector<std::int64_t>> shapes{{},
                                                      {0},
                                                      {1},
                                                      {7},
                                                      {0, 5},
                                                      {5, 0},
                                                      {3, 2},
                                                      {1, 9},
                                                      {2, 3, 4},
                                                      {0, 3, 4},
                                                      {2, 0, 4},
                                                      {2, 3, 0},
                                                      {1, 1, 1, 1, 1, 1}};
  const std::vector<std::string> few{"<c8", "<f4", "<u1"};
  const std::vector<std::string> all{"<c8", "<c16", "<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "<i1", "<u1", "|b1"};
  for (const auto& shape : shapes)
    for (const std::string& dtype : shape.size() == 2 ? all : few) {
      SCOPED_TRACE(fmt::format("{} of {} dimensions", dtype, shape.size()));
      const NpyArray odd = array_of(dtype, shape);
      refusal_of(std::vector<NpyArray>(entry().inputs.size(), odd));
      std::vector<NpyArray> one_odd = good_arrays();
      for (std::size_t i = 0; i < one_odd.size() && one_odd.size() > 1; ++i) {
        one_odd[i] = odd;
        refusal_of(one_odd, 2);
        one_odd = good_arrays();
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Stages, Arrays, ::testing::ValuesIn(all_entries()),
                         [](const auto& instance) { return std::string(instance.param->name); });

}  // namespace
}  // namespace iqd::conformance
