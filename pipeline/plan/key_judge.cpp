// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/key_judge.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

namespace iqd {
namespace {

/// Inputs as a stage might get them. What it says about the keys alone is the same for all of these.
struct Guess {
  double rate_hz;
  std::int64_t channels;
  std::int64_t most_new;
  std::int64_t bins = 0;  // for an input that takes anything: an array instead of a stream
};
constexpr Guess kGuesses[] = {
    {1e6, 1, 65536}, {1e3, 2, 1 << 22}, {1e9, 64, 1 << 12}, {3.7e4, 3, 1 << 20}, {1e6, 1, 1, 1000}};

bool takes_anything(const InputSpec& input) {
  return input.dims.front() != '[';
}

bool may_be_stream(const InputSpec& input) {
  return input.optional || takes_anything(input) || input.dims == "[n]";
}

PortShape shape_of(const InputSpec& input, std::size_t turn, const Guess& guess) {
  if (input.optional) return {};
  PortShape shape;
  shape.element = input.elements.at(turn % input.elements.size());
  shape.rate_hz = shape.source_rate_hz = guess.rate_hz;
  if (guess.channels > 1 && !input.one_channel) shape.rows = {{"channel", guess.channels}};
  if (guess.bins > 0 && takes_anything(input)) shape.hold_per_block(shape.element, {{"bin", guess.bins}});
  return shape;
}

std::vector<Problem> problems_with(Stage& stage, const StageEntry& entry, std::size_t turn, const Section& section) {
  Problems found;
  const Section silent = section.with(found);
  std::vector<PortShape> in;
  for (const InputSpec& input : entry.inputs) in.push_back(shape_of(input, turn, kGuesses[turn]));
  std::vector<PortShape> out(entry.outputs.size(), in.front());
  std::vector<Footprint> footprint(in.size());
  ShapeContext context{
      .in = in, .out = out, .footprint = footprint, .most_new = kGuesses[turn].most_new, .section = silent};
  ask_for_shape(stage, context);
  return {found.begin(), found.end()};
}

}  // namespace

void ask_for_shape(Stage& stage, ShapeContext& context) {
  try {
    stage.shape(context);
  } catch (const std::bad_alloc&) {
    context.section.problem("", "its keys need more memory than is available");
  } catch (const std::length_error&) {
    context.section.problem("", "its keys need more memory than any machine has");
  }
}

void judge_keys(Stage& stage, const StageEntry& entry, const Section& section) {
  if (stage.has_program() || entry.inputs.empty() || !std::ranges::all_of(entry.inputs, may_be_stream)) return;
  std::vector<Problem> common = problems_with(stage, entry, 0, section);
  for (std::size_t turn = 1; turn < std::size(kGuesses) && !common.empty(); ++turn) {
    const std::vector<Problem> found = problems_with(stage, entry, turn, section);
    std::erase_if(common, [&](const Problem& p) {
      return std::ranges::none_of(found, [&](const Problem& f) { return f.path == p.path && f.what == p.what; });
    });
  }
  for (Problem& p : common) section.problems().push_back(std::move(p));
}

}  // namespace iqd
