// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/message_piece.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

namespace iqd::plot {
namespace {

using nlohmann::json;

double number(const json& object, const char* key, double otherwise = 0) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : otherwise;
}

std::string text(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::vector<std::string> texts(const json& object, const std::string& key) {
  std::vector<std::string> all;
  const auto at = object.find(key);
  if (at != object.end() && at->is_array())
    for (const json& item : *at)
      if (item.is_string()) all.push_back(item.get<std::string>());
  return all;
}

/// The dimensions without the `iq` of pairs.
std::vector<std::string> dims_of(const MessageView& m) {
  std::vector<std::string> dims = texts(m.header, "dims");
  if (m.pairs && !dims.empty()) dims.pop_back();
  return dims;
}

bool is_complex(const MessageView& m) {
  return m.pairs || m.dtype == "<c8" || m.dtype == "<c16";
}

cf32 complex_at(const MessageView& m, std::int64_t i) {
  const auto z = std::get<std::complex<double>>(value_at(m, i));
  const float scale = m.pairs ? 1 / 32768.0f : 1.0f;
  return {static_cast<float>(z.real()) * scale, static_cast<float>(z.imag()) * scale};
}

float real_at(const MessageView& m, std::int64_t i) {
  const Value value = value_at(m, i);
  if (const auto* n = std::get_if<std::int64_t>(&value)) return static_cast<float>(*n);
  if (const auto* x = std::get_if<double>(&value)) return static_cast<float>(*x);
  // A spectrum before its magnitude is taken.
  const double power = std::norm(std::get<std::complex<double>>(value));
  return static_cast<float>(10 * std::log10(std::max(power, 1e-20)));
}

template <class T, class At> std::vector<std::vector<T>> rows_of(const MessageView& m, std::int64_t length, At at) {
  std::vector<std::vector<T>> rows;
  const std::int64_t all = m.values();
  for (std::int64_t begin = 0; length > 0 && begin + length <= all; begin += length) {
    std::vector<T>& row = rows.emplace_back();
    if (m.dtype == (std::is_same_v<T, cf32> ? "<c8" : "<f4")) {
      row.resize(static_cast<std::size_t>(length));
      std::memcpy(static_cast<void*>(row.data()), m.payload.data() + static_cast<std::size_t>(begin) * sizeof(T),
                  row.size() * sizeof(T));
      continue;
    }
    row.reserve(static_cast<std::size_t>(length));
    for (std::int64_t i = begin; i < begin + length; ++i) row.push_back(at(m, i));
  }
  return rows;
}

/// The frequency of each bin, as the header says; empty if it does not.
std::vector<double> stated_frequencies(const MessageView& m, std::int64_t bins) {
  const auto axes = m.header.find("axes");
  if (axes == m.header.end() || !axes->is_object()) return {};
  const auto axis = axes->find("bin");
  if (axis == axes->end() || !axis->is_object()) return {};
  std::vector<double> hz;
  if (const auto values = axis->find("values"); values != axis->end() && values->is_array()) {
    for (const json& value : *values)
      if (value.is_number()) hz.push_back(value.get<double>());
    return std::ssize(hz) == bins ? hz : std::vector<double>();
  }
  const double first = number(*axis, "first"), step = number(*axis, "step");
  const double wrap = number(*axis, "wrap", static_cast<double>(bins));
  for (std::int64_t k = 0; step != 0 && k < bins; ++k) {
    const auto bin = static_cast<double>(k);
    hz.push_back(first + step * (bin < wrap ? bin : bin - static_cast<double>(bins)));
  }
  return hz;
}

/// Brings bins into the order of their frequencies: a transform may begin at 0 Hz, or with the highest.
BinAxis sort_bins(const std::vector<double>& hz, std::vector<std::vector<float>>& rows) {
  const double span = *std::ranges::max_element(hz) - *std::ranges::min_element(hz);
  if (!std::ranges::is_sorted(hz)) {
    std::vector<std::size_t> order(hz.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t k) { return hz[k]; });
    for (std::vector<float>& row : rows) {
      std::vector<float> sorted(row.size());
      for (std::size_t k = 0; k < order.size(); ++k) sorted[k] = row[order[k]];
      row = std::move(sorted);
    }
  }
  return {*std::ranges::min_element(hz), span / static_cast<double>(std::max<std::size_t>(hz.size() - 1, 1)), true};
}

/// The axis of a spectrum whose rows are in `rows`, lowest frequency first.
BinAxis bin_axis(const MessageView& m, std::int64_t bins, std::vector<std::vector<float>>& rows) {
  if (const std::vector<double> hz = stated_frequencies(m, bins); !hz.empty()) return sort_bins(hz, rows);
  const double width = number(m.header, "span", number(m.header, "sample_rate"));
  if (!(width > 0) || bins <= 0) return {};
  const double step = width / static_cast<double>(bins);
  const bool of_channels = m.header.value("axes", json::object()).contains("channel");  // each has bins of its own
  const double middle = of_channels ? 0 : number(m.header, "frequency");
  return {middle - step * static_cast<double>(bins / 2), step, false, of_channels};
}

/// `sample` counts samples of the source.
std::optional<std::int64_t> first_item(const MessageView& m, double rate_hz) {
  const double source_hz = number(m.header, "sample_rate");
  if (!m.sample || !(source_hz > 0) || !(rate_hz > 0)) return std::nullopt;
  return std::llround(static_cast<double>(*m.sample) * (rate_hz / source_hz));
}

}  // namespace

Piece piece_of(const MessageView& m) {
  const std::vector<std::string> dims = dims_of(m);
  const auto has = [&](const char* dim) { return std::ranges::find(dims, dim) != dims.end(); };
  const std::size_t used = m.shape.size() - (m.pairs ? 1 : 0);
  const std::int64_t last = used > 0 ? m.shape[used - 1] : 1;
  Piece piece;
  piece.rate_hz = number(m.header, "item_rate", number(m.header, "sample_rate"));
  piece.frequency_hz = number(m.header, "frequency");
  piece.first = first_item(m, piece.rate_hz);
  piece.name = fmt::format("{} of {}", text(m.header, "port"), text(m.header, "pipeline"));
  if (dims.size() > 1) piece.row_names = texts(m.header, dims[dims.size() - 2] + "s");
  const bool is_stream = !dims.empty() && dims.back() == "n";
  if (!dims.empty() && dims.back() == "bin") {
    piece.of = Piece::Of::bins;
    piece.values = rows_of<float>(m, last, real_at);
    piece.bins = bin_axis(m, last, piece.values);
  } else if (is_complex(m)) {
    piece.of = is_stream && !has("symbol") ? Piece::Of::samples : Piece::Of::symbols;
    piece.samples = rows_of<cf32>(m, last, complex_at);
    if (is_stream && m.header.value("mirrored", json()) == true)
      for (std::vector<cf32>& row : piece.samples)
        for (cf32& x : row) x = std::conj(x);
  } else {
    piece.of = Piece::Of::values;
    if (!is_stream) piece.rate_hz = 0;
    piece.values = rows_of<float>(m, is_stream ? last : m.values(), real_at);
  }
  return piece;
}

}  // namespace iqd::plot
