// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/sub/message_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/element.hpp"
#include "base/files/npy.hpp"

namespace iqd {
namespace {

using nlohmann::json;

constexpr std::size_t kMostDimensions = 16;
// iqd sends nothing deeper, and printing it would let the sender exhaust the stack.
constexpr int kDeepest = 16;

/// Not an object if the text is not JSON or nested too deeply.
json parse(std::string_view text) {
  bool too_deep = false;
  const auto watch = [&](int depth, json::parse_event_t, json&) {
    too_deep = too_deep || depth > kDeepest;
    return !too_deep;
  };
  json parsed = json::parse(text, watch, false);
  return too_deep ? json() : parsed;
}

/// An integer of the header, if it fits.
std::optional<std::int64_t> whole(const json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number_integer()) return std::nullopt;
  if (at->is_number_unsigned() && at->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return at->get<std::int64_t>();
}

std::string text(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// NumPy itself writes |i1 and |u1 for what the wire calls <i1 and <u1.
std::string plain_dtype(std::string dtype) {
  if (dtype == "|i1" || dtype == "|u1") dtype.front() = '<';
  return dtype;
}

bool read_shape(const json& header, std::vector<std::int64_t>& shape) {
  const auto at = header.find("shape");
  if (at == header.end() || !at->is_array() || at->size() > kMostDimensions) return false;
  for (const json& extent : *at) {
    const bool fits = extent.is_number_unsigned() && extent.get<std::uint64_t>() <= (std::uint64_t{1} << 62);
    if (!fits) return false;
    shape.push_back(extent.get<std::int64_t>());
  }
  return true;
}

bool is_as_long(const std::vector<std::int64_t>& shape, std::size_t item_bytes, std::size_t payload_bytes) {
  std::size_t bytes = item_bytes;
  for (const std::int64_t extent : shape)
    if (extent == 0) return payload_bytes == 0;
  for (const std::int64_t extent : shape) {
    const auto n = static_cast<std::size_t>(extent);
    if (bytes > payload_bytes / n) return false;
    bytes *= n;
  }
  return bytes == payload_bytes;
}

/// Checks the array that the header describes against the payload.
std::string check_array(MessageView& m) {
  const json& h = m.header;
  m.dtype = plain_dtype(text(h, "dtype"));
  const bool is_little = m.dtype.starts_with('<') || m.dtype == "|b1";
  const std::size_t item = is_little ? npy_item_bytes(m.dtype) : 0;
  if (item == 0) return fmt::format("dtype '{}' is not part of the wire format", m.dtype);
  if (!read_shape(h, m.shape)) return "there is no valid shape";
  m.pairs = text(h, "datatype") == "ci16_le" && m.dtype == "<i2" && !m.shape.empty() && m.shape.back() == 2;
  if (is_as_long(m.shape, item, m.payload.size())) return {};
  return fmt::format("shape {} of {} does not match {} bytes of payload", shape_text(m), m.dtype, m.payload.size());
}

template <class T> T value_of(const MessageView& m, std::int64_t index) {
  T value;
  std::memcpy(static_cast<void*>(&value), m.payload.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <class T> Value as_whole(const MessageView& m, std::int64_t index) {
  return static_cast<std::int64_t>(value_of<T>(m, index));
}

}  // namespace

std::int64_t MessageView::values() const noexcept {
  const std::size_t bytes = npy_item_bytes(dtype) * (pairs ? 2 : 1);
  return bytes ? static_cast<std::int64_t>(payload.size() / bytes) : 0;
}

std::optional<MessageView> read_message(std::string_view head, std::span<const std::byte> payload, std::string& why) {
  const std::size_t space = head.find(' ');
  if (space == std::string_view::npos) {
    why = "the first frame has no space between topic and header";
    return std::nullopt;
  }
  MessageView m;
  m.topic = head.substr(0, space);
  m.payload = payload;
  m.header = parse(head.substr(space + 1));
  if (!m.header.is_object()) {
    why = "the header is not a JSON object, or nested too deeply";
    return std::nullopt;
  }
  if (why = check_array(m); !why.empty()) return std::nullopt;
  if (const auto seq = m.header.find("seq"); seq != m.header.end() && seq->is_number_unsigned())
    m.seq = seq->get<std::uint64_t>();
  m.sample = whole(m.header, "sample");
  m.time_ns = whole(m.header, "time_ns");
  m.gap = std::max<std::int64_t>(whole(m.header, "gap").value_or(0), 0);
  return m;
}

Value value_at(const MessageView& m, std::int64_t i) {
  if (m.pairs) {
    const auto x = value_of<sc16>(m, i);
    return std::complex<double>(x.re, x.im);
  }
  if (m.dtype == "<c8") return std::complex<double>(value_of<cf32>(m, i));
  if (m.dtype == "<c16") return value_of<std::complex<double>>(m, i);
  if (m.dtype == "<f8") return value_of<double>(m, i);
  if (m.dtype == "<f4") return static_cast<double>(value_of<float>(m, i));
  if (m.dtype == "<f2") return static_cast<double>(to_float(value_of<f16>(m, i)));
  if (m.dtype == "<i8") return as_whole<std::int64_t>(m, i);
  if (m.dtype == "<i4") return as_whole<std::int32_t>(m, i);
  if (m.dtype == "<i2") return as_whole<std::int16_t>(m, i);
  if (m.dtype == "<i1") return as_whole<std::int8_t>(m, i);
  return as_whole<std::uint8_t>(m, i);
}

std::string text_of(const Value& value) {
  if (const auto* n = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *n);
  if (const auto* x = std::get_if<double>(&value)) return fmt::format("{:.6g}", *x);
  const auto z = std::get<std::complex<double>>(value);
  return fmt::format("{:.6g}{:+.6g}j", z.real(), z.imag());
}

json json_of(const Value& value) {
  // The library writes null for values that are not finite.
  if (const auto* n = std::get_if<std::int64_t>(&value)) return *n;
  if (const auto* x = std::get_if<double>(&value)) return *x;
  const auto z = std::get<std::complex<double>>(value);
  return json::array({z.real(), z.imag()});
}

std::string shape_text(const MessageView& m) {
  if (m.shape.empty()) return "[]";
  std::string all;
  for (const std::int64_t extent : m.shape) all += fmt::format("[{}]", extent);
  return all;
}

}  // namespace iqd
