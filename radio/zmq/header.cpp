// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/header.hpp"

#include <charconv>
#include <cmath>

namespace iqd::radio::zmq {
namespace {

constexpr int kDeepest = 32;

/// A position in a JSON text. Each function skips what it reads, or returns false.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool at_end() noexcept {
    skip_space();
    return rest_.empty();
  }
  bool take(char c) noexcept {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// Returns the text between the quotes, with escapes unchanged.
  bool string(std::string_view& text) noexcept {
    if (!take('"')) return false;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == '"') {
        text = rest_.substr(0, i);
        rest_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }
  template <class T> bool number(T& value) noexcept {
    skip_space();
    const bool digits =
        !rest_.empty() && (is_digit(rest_[0]) || (rest_[0] == '-' && rest_.size() > 1 && is_digit(rest_[1])));
    if (!digits) return false;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  bool word(std::string_view expected) noexcept {
    skip_space();
    if (rest_.substr(0, expected.size()) != expected) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  bool skip_value(int depth = 0) noexcept {
    skip_space();
    if (rest_.empty() || depth > kDeepest) return false;
    std::string_view text;
    switch (rest_.front()) {
      case '"': return string(text);
      case '{': return skip_members(depth);
      case '[': return skip_items(depth);
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return skip_number();
    }
  }

 private:
  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  void skip_space() noexcept {
    const std::size_t n = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(n == std::string_view::npos ? rest_.size() : n);
  }
  bool skip_number() noexcept {
    const std::size_t n = rest_.find_first_not_of("+-.eE0123456789");
    const std::size_t length = n == std::string_view::npos ? rest_.size() : n;
    rest_.remove_prefix(length);
    return length > 0;
  }
  bool skip_items(int depth) noexcept {
    take('[');
    if (take(']')) return true;
    do {
      if (!skip_value(depth + 1)) return false;
    } while (take(','));
    return take(']');
  }
  bool skip_members(int depth) noexcept {
    take('{');
    if (take('}')) return true;
    do {
      std::string_view key;
      if (!string(key) || !take(':') || !skip_value(depth + 1)) return false;
    } while (take(','));
    return take('}');
  }

  std::string_view rest_;
};

bool read(Cursor& at, std::optional<std::int64_t>& value) noexcept {
  return at.number(value.emplace());
}
bool read(Cursor& at, std::int64_t& value) noexcept {
  return at.number(value);
}
bool read(Cursor& at, double& value) noexcept {
  return at.number(value) && std::isfinite(value);
}
bool read(Cursor& at, std::string_view& value) noexcept {
  return at.string(value);
}

bool read_shape(Cursor& at, Header& h) noexcept {
  h.rank = 0;
  if (!at.take('[')) return false;
  if (at.take(']')) return true;
  do {
    if (h.rank == static_cast<int>(h.shape.size())) return false;
    if (!at.number(h.shape[static_cast<std::size_t>(h.rank++)])) return false;
  } while (at.take(','));
  return at.take(']');
}

bool read_member(Cursor& at, std::string_view key, Header& h) noexcept {
  if (at.word("null")) return true;
  if (key == "sample") return read(at, h.sample);
  if (key == "time_ns") return read(at, h.time_ns);
  if (key == "gap") return read(at, h.gap);
  if (key == "tuned") return read(at, h.tuned);
  if (key == "frequency") return read(at, h.frequency_hz);
  if (key == "sample_rate") return read(at, h.sample_rate_hz);
  if (key == "item_rate") return read(at, h.item_rate_hz);
  if (key == "dtype") return read(at, h.dtype);
  if (key == "datatype") return read(at, h.datatype);
  if (key == "shape") return read_shape(at, h);
  return at.skip_value();
}

}  // namespace

std::optional<Header> parse_header(std::string_view frame) noexcept {
  const std::size_t space = frame.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  Header h;
  h.topic = frame.substr(0, space);
  Cursor at(frame.substr(space + 1));
  if (!at.take('{')) return std::nullopt;
  if (!at.take('}')) {
    do {
      std::string_view key;
      if (!at.string(key) || !at.take(':') || !read_member(at, key, h)) return std::nullopt;
    } while (at.take(','));
    if (!at.take('}')) return std::nullopt;
  }
  if (!at.at_end()) return std::nullopt;
  return h;
}

bool is_readable(std::string_view dtype) noexcept {
  return dtype == "<c8" || dtype == "<i2" || dtype == "<f4";
}

std::optional<Layout> layout_of(const Header& h, std::size_t payload_bytes) noexcept {
  const bool integers = h.dtype == "<i2" && (h.datatype.empty() || h.datatype == "ci16_le");
  const bool real = h.dtype == "<f4";
  if (!is_readable(h.dtype) || (h.dtype == "<i2" && !integers)) return std::nullopt;
  Layout layout;
  layout.element = integers ? Element::sc16 : real ? Element::f32 : Element::cf32;
  int rank = h.rank;
  if (integers && (rank < 1 || h.shape[static_cast<std::size_t>(--rank)] != 2)) return std::nullopt;
  if (rank != 1 && rank != 2) return std::nullopt;
  layout.channels = rank == 2 ? h.shape[0] : 1;
  layout.samples = h.shape[rank == 2 ? 1 : 0];
  if (layout.channels < 1 || layout.samples < 0) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(payload_bytes / size_of(layout.element));
  const bool fits = payload_bytes % size_of(layout.element) == 0 && whole % layout.channels == 0 &&
                    whole / layout.channels == layout.samples;
  return fits ? std::optional(layout) : std::nullopt;
}

}  // namespace iqd::radio::zmq
