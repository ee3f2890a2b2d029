// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/python/out_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace iqd::python {
namespace {

constexpr std::string_view kForm = "such as \"[n]\", \"[channel][n]\", \"[frame][bin 64]\" or \"[detection][value 3]\"";

/// `bin 64`, `n` or `3`.
std::optional<Dim> read_dim(std::string_view text) {
  if (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())))
    return read_dim("value " + std::string(text));
  const std::size_t space = text.find(' ');
  Dim dim{std::string(text.substr(0, space)), 0};
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (dim.name.empty() || !std::ranges::all_of(dim.name, is_letter)) return std::nullopt;
  if (space == text.npos) return dim;
  const std::string_view number = text.substr(space + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), dim.extent);
  if (error != std::errc() || end != number.data() + number.size() || dim.extent < 1) return std::nullopt;
  return dim;
}

bool all_fixed(std::span<const Dim> dims) {
  return std::ranges::all_of(dims, [](const Dim& d) { return d.extent > 0; });
}

class Declaration {
 public:
  Declaration(const Config& config, ShapeContext& context) : config_(config), context_(context) {}

  void declare() {
    const auto element = element_named(config_.out.element);
    if (!element)
      problem("out.element",
              fmt::format("'{}' is not one of sc16 cf32 f32 f16 i64 i32 i16 i8 u8", config_.out.element));
    out().element = element.value_or(Element::cf32);
    out().llr_scale = 0;
    if (config_.out.dims.empty()) return keep();
    auto dims = read_dims(config_.out.dims);
    if (!dims) return problem("out.dims", fmt::format("'{}' is not a list of dimensions {}", config_.out.dims, kForm));
    dims_ = std::move(*dims);
    take_rows();
    const bool varies = !dims_.empty() && dims_.front().extent == 0;
    if (config_.out.most > 0)
      varies ? count() : problem("out.most", "the first dimension has an extent, so there is nothing to count");
    else if (varies)
      in().axis == Axis::stream ? follow() : pair();
    else
      once();
  }

 private:
  const PortShape& in() const { return context_.in[0]; }
  PortShape& out() const { return context_.out[0]; }
  void problem(std::string_view key, std::string what) const { context_.section.problem(key, std::move(what)); }

  /// `[channel][n]`: as many rows as the input has; `[beam 3][n]`: so many.
  void take_rows() {
    if (dims_.size() < 2 || dims_[1].extent > 0 || in().axis != Axis::stream) return;
    const Dim first = dims_.front();
    dims_.erase(dims_.begin());
    if (first.extent == 0 && first.name == "channel") return;
    if (first.extent == 0)
      return problem("out.dims", fmt::format("[{}] needs an extent, as in [{} 3]", first.name, first.name));
    out().rows.clear();
    if (first.extent > 1) out().rows = {first};
  }
  void items_after(std::size_t dims) {
    out().item.assign(dims_.begin() + static_cast<std::ptrdiff_t>(dims), dims_.end());
    if (!all_fixed(out().item))
      problem("out.dims", fmt::format("'{}': only the first dimension may vary", config_.out.dims));
  }

  /// The input's dimensions.
  void keep() {
    if (config_.out.most > 0) problem("out.most", "needs `dims`, as in \"[detection][value 3]\"");
    in().axis == Axis::stream ? scale_rate() : no_ratio("a stage that takes items");
  }
  void count() {
    out().rows.clear();
    items_after(1);
    out().count_items(dims_.front().name, config_.out.most);
    no_ratio("a stage that counts its items");
  }
  /// A stream of the input's rate, or of a ratio of it.
  void follow() {
    items_after(1);
    out().axis_name = dims_.front().name;
    scale_rate();
  }
  void scale_rate() {
    out().rate_hz *= static_cast<double>(config_.interpolation) / static_cast<double>(config_.decimation);
    for (Footprint& f : context_.footprint) {
      f.granule = config_.decimation;
      f.yield = config_.interpolation;
      f.whole = config_.decimation > 1;
    }
  }
  /// One for each item of the input.
  void pair() {
    if (in().axis != Axis::counted || dims_.front().name != in().axis_name)
      return problem("out.dims", fmt::format("the input is {}: the output can have [{}] as well, an extent instead, or "
                                             "count its items with `most`",
                                             in().text(), in().axis == Axis::counted ? in().axis_name : "n"));
    items_after(1);
    no_ratio("a stage that takes items");
  }
  /// One array per block, which depends on how the stream is cut.
  void once() {
    out().rows.clear();
    items_after(0);
    out().hold_per_block(out().element, out().item);
    context_.chunk_exempt = in().axis != Axis::block;
    no_ratio("a stage with one array per block");
  }
  void no_ratio(const char* who) const {
    if (config_.decimation != 1) problem("decimation", fmt::format("{} has no rate", who));
    if (config_.interpolation != 1) problem("interpolation", fmt::format("{} has no rate", who));
  }

  const Config& config_;
  ShapeContext& context_;
  std::vector<Dim> dims_;
};

void check_inputs(const Config& config, const ShapeContext& context) {
  const PortShape& first = context.in[0];
  for (std::size_t i = 0; i < config.in.size() && i < context.in.size(); ++i)
    if (name_of(context.in[i].element) != config.in[i])
      context.section.problem("in", fmt::format("names {}, but the input is {}", config.in[i], context.in[i].text()));
  if (context.in.size() != config.in.size())
    return context.section.problem(
        "in", fmt::format("names {} input(s), but there are {}", config.in.size(), context.in.size()));
  PortShape other = context.in.back();
  other.element = first.element;
  if (other.text() != first.text())
    context.section.problem(
        "", fmt::format("its two inputs have to match; they are {} and {}", first.text(), context.in.back().text()));
  if (first.axis == Axis::stream) return;
  if (config.past > 0 || config.future > 0)
    context.section.problem(config.past > 0 ? "past" : "future",
                            fmt::format("only a stream has a past and a future; the input is {}", first.text()));
  if (first.row_count() > 1)
    context.section.problem("", fmt::format("takes items of one channel only; the input is {}", first.text()));
}

}  // namespace

std::optional<std::vector<Dim>> read_dims(std::string_view text) {
  std::vector<Dim> dims;
  while (!text.empty()) {
    const std::size_t end = text.find(']');
    if (text.front() != '[' || end == text.npos) return std::nullopt;
    const auto dim = read_dim(text.substr(1, end - 1));
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
    text.remove_prefix(end + 1);
  }
  if (dims.empty()) return std::nullopt;
  return dims;
}

Shapes declare(const Config& config, ShapeContext& context) {
  for (Footprint& f : context.footprint) {
    f.past = config.past;
    f.future = config.future;
  }
  context.out[1].tally(kEvents);
  check_inputs(config, context);
  Declaration(config, context).declare();
  return {{context.in.begin(), context.in.end()},
          context.out[0],
          config.past,
          config.future,
          config.decimation,
          config.interpolation,
          context.most_new};
}

}  // namespace iqd::python
