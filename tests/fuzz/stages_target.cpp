// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <random>

#include "base/error.hpp"
#include "daemon/command/array_port.hpp"
#include "pipeline/stage/stage.hpp"
#include "tests/fuzz/stage_keys.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

constexpr std::int64_t kMostElements = 1 << 13;

/// An input as `iqd exec` gets it from NumPy, of the example's shape or nearly so.
std::vector<std::int64_t> extents_from(Bytes& bytes, const InputSpec& spec, Element element) {
  constexpr std::int64_t kLengths[] = {64, 0, 1, 2, 3, 5, 7, 8, 16, 31, 100, 128, 255, 256, 1000, 1024, 2000, 4096};
  constexpr std::int64_t kCounts[] = {2, 0, 1, 3, 4, 7, 16, 64};
  const std::int64_t length = spec.items() ? bytes.pick(kCounts) : bytes.pick(kLengths);
  const PortShape shape = spec.example_shape(element, length);
  std::vector<std::int64_t> extents;
  if (const std::size_t channels = bytes.below(5); !spec.items() && channels > 0)
    extents.push_back(static_cast<std::int64_t>(channels) - (channels > 3 ? 4 : 0));
  if (shape.axis != Axis::block) extents.push_back(length);
  for (const Dim& d : shape.item) extents.push_back(d.extent);
  if (element == Element::sc16) extents.push_back(2);
  for (std::size_t changes = bytes.below(4); changes > 0; --changes) {
    const auto at = static_cast<std::ptrdiff_t>(bytes.below(extents.size() + 1));
    const bool is_there = at < std::ssize(extents);
    const auto extent = static_cast<std::int64_t>(bytes.below(10));
    switch (bytes.below(4)) {
      case 1: extents.insert(extents.begin() + at, extent); break;
      case 2:
        if (is_there) extents.erase(extents.begin() + at);
        break;
      case 3:
        if (is_there) extents[static_cast<std::size_t>(at)] = bytes.pick(kLengths);
        break;
      default:
        if (is_there) extents[static_cast<std::size_t>(at)] = extent;
        break;
    }
  }
  return extents;
}

float odd_number(std::mt19937& random) {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kOdd[] = {NAN, INFINITY, -INFINITY, 1e-42f, -0.0f, kMost, -kMost, 1e15f};
  return kOdd[random() % std::size(kOdd)];
}

/// Numbers of one kind, whatever they are used for.
void fill(Bytes& bytes, NpyArray& array) {
  const std::size_t kind = bytes.below(6);
  std::mt19937 random(kind == 0 ? 1 : bytes.take<std::uint8_t>());
  std::normal_distribution<float> normal;
  const std::string_view text = kind == 5 ? bytes.piece() : std::string_view();
  const bool is_float = array.dtype[1] == 'c' || array.dtype[1] == 'f';
  const std::size_t step = array.dtype == "<c8" || array.dtype == "<f4" ? sizeof(float) : 1;
  for (std::size_t at = 0; at + step <= array.data.size(); at += step) {
    const float x = kind == 3 && random() % 8 == 0 ? odd_number(random) : normal(random);
    if (kind == 5)
      array.data[at] = static_cast<std::byte>(text.empty() ? 0 : text[at % text.size()]);
    else if (kind == 1)
      array.data[at] = std::byte{};
    else if (is_float && step == sizeof x)
      std::memcpy(&array.data[at], &x, sizeof x);
    else  // bits, small numbers, or any
      array.data[at] = static_cast<std::byte>(kind == 2 ? random() : kind == 4 ? random() % 2 : random() % 7);
  }
}

/// Nothing if it would be too large to be fast.
std::optional<NpyArray> array_from(Bytes& bytes, const InputSpec& spec) {
  constexpr std::string_view kOthers[] = {"<c8", "<f4", "<i2", "<u1", "<f8", "<c16", "<i8", "<i4", "<i1", "<f2", "|b1"};
  const std::size_t type = bytes.below(spec.elements.size() + std::size(kOthers));
  const Element element = type < spec.elements.size() ? spec.elements[type] : spec.elements.front();
  NpyArray array;
  array.dtype = type < spec.elements.size() ? traits(element).dtype : kOthers[type - spec.elements.size()];
  array.shape = extents_from(bytes, spec, element);
  if (array.size() > kMostElements) return std::nullopt;
  array.data.resize(static_cast<std::size_t>(array.size()) * npy_item_bytes(array.dtype));
  fill(bytes, array);
  return array;
}

void check_output(const StageOutput& output) {
  const std::int64_t row = output.length * output.shape.item_bytes();
  expect(output.length >= 0 && std::ssize(output.rows) == output.shape.row_count(), "as many rows as the shape says");
  for (const auto& bytes : output.rows) expect(std::ssize(bytes) == row, "rows are as long as the shape says");
}

void execute(Bytes& bytes, const StageEntry& entry, const std::string& keys) {
  std::vector<NpyArray> arrays;
  std::vector<InputSpec> given;
  for (const InputSpec& spec : entry.inputs) {
    if (spec.optional && bytes.flag()) break;
    auto array = array_from(bytes, spec);
    if (!array) return;
    arrays.push_back(std::move(*array));
    given.push_back(spec);
  }
  constexpr double kRates[] = {1e6, 1, 20.625e6, 48000, 0, 1e12};
  const double rate = bytes.pick(kRates);
  constexpr std::int64_t kBlocks[] = {0, 0, 1, 2, 3, 7, 10, 64, 100, 1000};
  const std::int64_t block = bytes.pick(kBlocks);
  given = agreed(arrays, std::move(given));
  std::vector<StageInput> inputs;
  for (std::size_t i = 0; i < arrays.size(); ++i) inputs.push_back(as_input(arrays[i], given[i], rate));
  Problems problems;
  StageRunner runner(entry, keys, std::move(inputs), block, "cpu", problems);
  if (problems.empty())
    for (const StageOutput& output : runner.run()) check_output(output);
}

}  // namespace

/// A stage, its keys and its inputs, as `iqd exec` runs it on the CPU.
void stages(std::string_view input) {
  Bytes bytes(input);
  const StageEntry& entry = bytes.pick(all_stages());
  if (entry.name == "kernel") return;  // would start a compiler
  const std::string keys = keys_from(bytes, entry);
  try {
    Problems problems;
    const StageEntry own = configured(entry, keys, problems);
    if (problems.empty()) execute(bytes, own, keys);
  } catch (const UsageError&) {
  } catch (const SetupError&) {
  }
}

}  // namespace iqd::fuzz
