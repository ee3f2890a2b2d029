// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kMost = 1 << 24;  // for each number: products of two fit into 64 bits

/// Removes `before`, unless it is 0, and a number from the front of the text.
bool take(std::string_view& text, char before, std::int64_t& number) {
  if (before != 0) {
    if (text.empty() || text.front() != before) return false;
    text.remove_prefix(1);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 1 || number > kMost) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

double transform_flops(std::int64_t size) {
  const auto n = static_cast<double>(size);
  return 5 * n * std::log2(n);
}

}  // namespace

std::string text_of(const ConvolutionShape& s) {
  return fmt::format("{}x{}{}x{}{}", s.signal, s.taps, s.second > 0 ? fmt::format("+{}", s.second) : "", s.batch,
                     s.one_filter ? "/1" : "");
}

ConvolutionShape convolution_shape(std::string_view text) {
  ConvolutionShape s;
  std::string_view rest = text;
  bool good = take(rest, 0, s.signal) && take(rest, 'x', s.taps);
  if (good && rest.starts_with('+')) good = take(rest, '+', s.second);
  good = good && take(rest, 'x', s.batch);
  if (good && rest == "/1") {
    s.one_filter = true;
    rest = {};
  }
  if (good && rest.empty()) return s;
  throw UsageError(fmt::format(
      "'{}' is not a shape: use SIGNALxTAPSxPACKETS, such as 12672x186x3104, with +TAPS for a second filter and /1 "
      "for one filter for all packets; no number may exceed {}",
      text, kMost));
}

std::string text_of(const ConvolutionChoice& choice) {
  return choice.size > 0 ? fmt::format("{} {}", choice.method, choice.size) : choice.method;
}

void check_choice(const std::vector<ConvolutionChoice>& choices, const ConvolutionShape& shape,
                  const ConvolutionChoice& choice) {
  if (std::find(choices.begin(), choices.end(), choice) == choices.end())
    throw UsageError(fmt::format("convolution `{}` is not available for {} here", text_of(choice), text_of(shape)));
}

Segments segments_of(const ConvolutionShape& shape, std::int64_t size) noexcept {
  if (size >= shape.outputs()) return {size, 0, size, 1};
  const std::int64_t skip = shape.all_taps() - 1, step = size - skip;
  return {size, skip, step, (shape.outputs() + step - 1) / step};
}

double direct_flops(const ConvolutionShape& shape, std::int64_t taps) noexcept {
  return 8.0 * static_cast<double>(taps) * static_cast<double>(shape.signal) * static_cast<double>(shape.batch);
}

double segment_flops(const ConvolutionShape& shape, const Segments& segments) noexcept {
  const double all = static_cast<double>(segments.count) * static_cast<double>(shape.batch);
  return transform_flops(segments.size) * (2 * all + static_cast<double>(shape.filters())) +
         6 * static_cast<double>(segments.size) * all;
}

}  // namespace iqd
