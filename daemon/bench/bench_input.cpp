// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/bench_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <span>

#include "base/error.hpp"
#include "daemon/command/array_port.hpp"

namespace iqd {
namespace {

/// `4x4:cf32/12`: an item's extents, its element, and how many items of the first input it belongs to.
struct Item {
  std::vector<Dim> dims;
  std::string element;
  std::int64_t serves = 1;
};
Item item_of(const std::string& text) {
  Item item;
  const auto refuse = [&] {
    return UsageError(fmt::format("--item: '{}' is not of the form y=4, h=4x4/12 or llr=2304:i8", text));
  };
  std::string rest = text;
  if (const auto slash = rest.find('/'); slash != rest.npos) {
    item.serves = std::atoll(rest.c_str() + slash + 1);
    rest.resize(slash);
  }
  if (const auto colon = rest.find(':'); colon != rest.npos) {
    item.element = rest.substr(colon + 1);
    rest.resize(colon);
    if (!element_named(item.element)) throw refuse();
  }
  for (std::size_t at = 0; at < rest.size(); at = std::min(rest.find('x', at), rest.size() - 1) + 1) {
    item.dims.push_back({fmt::format("d{}", item.dims.size()), std::atoll(rest.c_str() + at)});
    if (item.dims.back().extent < 1) throw refuse();
  }
  if (item.serves < 1) throw refuse();
  return item;
}

/// The text after `port=`, or nothing.
std::optional<std::string> given_for(const InputSpec& spec, const std::vector<std::string>& given) {
  const std::string port = fmt::format("{}=", spec.name);
  for (const std::string& text : given)
    if (text.starts_with(port)) return text.substr(port.size());
  return std::nullopt;
}

/// The array repeated up to `length`.
StageInput repeated_input(const std::string& file, const InputSpec& spec, std::int64_t length) {
  StageInput in = as_input(read_npy(file), spec, spec.example_shape(Element::cf32, 1).rate_hz);
  if (in.shape.axis == Axis::block) return in;
  if (in.data.empty()) throw UsageError(fmt::format("--in: {} is empty", file));
  const std::vector<std::byte> once = std::move(in.data);
  const auto row = static_cast<std::size_t>(in.row_bytes());
  in.length = in.shape.most = length;
  const auto wanted = static_cast<std::size_t>(in.row_bytes());
  in.data.resize(once.size() / row * wanted);
  for (std::size_t at = 0; at < in.data.size(); ++at) in.data[at] = once[at / wanted * row + at % wanted % row];
  return in;
}

}  // namespace

void fill_random(StageInput& in, bool positive) {
  in.data.resize(static_cast<std::size_t>(in.row_bytes()));
  std::mt19937 generator(std::random_device{}());
  std::normal_distribution<float> normal;
  if (in.shape.element != Element::cf32 && in.shape.element != Element::f32) {
    for (std::byte& b : in.data) b = static_cast<std::byte>(generator() & 0x3f);
    return;
  }
  // Repeated, since drawing that many numbers would take longer than the bench. Their count is prime, so that a number
  // moves to another place of an item each time.
  std::vector<float> numbers(std::min<std::size_t>(in.data.size() / sizeof(float), 1'000'003));
  for (float& x : numbers) x = positive ? std::fabs(normal(generator)) : normal(generator);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers));
  for (std::size_t at = 0; at < in.data.size(); at += bytes.size())
    std::memcpy(in.data.data() + at, bytes.data(), std::min(bytes.size(), in.data.size() - at));
}

void check_ports(const StageEntry& entry, const std::vector<std::string>& given) {
  for (const std::string& text : given)
    if (std::ranges::none_of(entry.inputs, [&](const InputSpec& i) { return given_for(i, {text}).has_value(); }))
      throw UsageError(fmt::format("bench {}: '{}' does not begin with `port=` of an input", entry.name, text));
}

bool is_wanted(const InputSpec& spec, const BenchOptions& options) {
  return !spec.optional || given_for(spec, options.arrays) || given_for(spec, options.items);
}

StageInput input_for(const InputSpec& spec, std::int64_t length, const BenchOptions& options) {
  if (const auto file = given_for(spec, options.arrays)) return repeated_input(*file, spec, length);
  const auto given = given_for(spec, options.items);
  const Item item = given ? item_of(*given) : Item{};
  const Element element = !item.element.empty()       ? *element_named(item.element)
                          : spec.takes(Element::cf32) ? Element::cf32
                                                      : spec.elements.front();
  StageInput in;
  in.length = length / item.serves;
  in.shape = spec.example_shape(element, in.length);
  if (given) in.shape.item = item.dims;
  fill_random(in, spec.variance);
  return in;
}

}  // namespace iqd
