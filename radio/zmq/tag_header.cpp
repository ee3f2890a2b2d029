// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/tag_header.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace iqd::radio::zmq {
namespace {

static_assert(std::endian::native == std::endian::little, "GNU Radio writes its header in host byte order");

constexpr std::uint16_t kMagic = 0x5ff0;
constexpr std::uint8_t kVersion = 1;
constexpr int kDeepestTag = 32;
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 61;
constexpr double kMostSeconds = 9e9;

/// The first byte of a serialized GNU Radio value (PMT).
enum class Kind : std::uint8_t {
  yes,
  no,
  symbol,
  int32,
  real,
  complex,
  null,
  pair,
  vector,
  dict,
  uniform,
  uint64,
  tuple,
  int64,
};

/// A position in a message. Each function skips what it reads, or returns false.
class TagCursor {
 public:
  explicit TagCursor(std::string_view text) : rest_(text) {}
  std::size_t left() const noexcept { return rest_.size(); }

  bool skip(std::uint64_t bytes) noexcept {
    if (bytes > rest_.size()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(bytes));
    return true;
  }
  template <class T> bool read(T& value) noexcept {
    if (rest_.size() < sizeof value) return false;
    std::memcpy(&value, rest_.data(), sizeof value);
    return skip(sizeof value);
  }
  /// Values are big-endian, the header around them is not.
  template <class T> bool read_swapped(T& value) noexcept {
    std::array<char, sizeof(T)> bytes{};
    if (!read(bytes)) return false;
    std::reverse(bytes.begin(), bytes.end());
    value = std::bit_cast<T>(bytes);
    return true;
  }
  bool take(Kind kind) noexcept {
    if (rest_.empty() || static_cast<Kind>(rest_.front()) != kind) return false;
    return skip(1);
  }
  bool symbol(std::string_view& text) noexcept {
    std::uint16_t length = 0;
    if (!take(Kind::symbol) || !read_swapped(length)) return false;
    text = rest_.substr(0, length);
    return skip(length);
  }
  bool number(double& value) noexcept {
    if (take(Kind::real)) return read_swapped(value);
    if (take(Kind::uint64)) return whole<std::uint64_t>(value);
    if (take(Kind::int64)) return whole<std::int64_t>(value);
    return take(Kind::int32) && whole<std::int32_t>(value);
  }
  bool skip_value(int depth = 0) noexcept {
    Kind kind{};
    if (depth > kDeepestTag || !read(kind)) return false;
    switch (kind) {
      case Kind::yes:
      case Kind::no:
      case Kind::null: return true;
      case Kind::int32: return skip(4);
      case Kind::real:
      case Kind::uint64:
      case Kind::int64: return skip(8);
      case Kind::complex: return skip(16);
      case Kind::symbol: return skip_symbol();
      case Kind::pair:
      case Kind::dict: return skip_pairs(depth);
      case Kind::vector:
      case Kind::tuple: return skip_items(depth);
      case Kind::uniform: return skip_uniform();
    }
    return false;
  }

 private:
  template <class T> bool whole(double& value) noexcept {
    T n = 0;
    if (!read_swapped(n)) return false;
    value = static_cast<double>(n);
    return true;
  }
  bool skip_symbol() noexcept {
    std::uint16_t length = 0;
    return read_swapped(length) && skip(length);
  }
  /// A list is a pair of its first element and the rest, so its length does not count as depth.
  bool skip_pairs(int depth) noexcept {
    do {
      if (!skip_value(depth + 1)) return false;
    } while (take(Kind::pair) || take(Kind::dict));
    return skip_value(depth + 1);
  }
  bool skip_items(int depth) noexcept {
    std::uint32_t count = 0;
    if (!read_swapped(count)) return false;
    for (; count > 0; --count)
      if (!skip_value(depth + 1)) return false;
    return true;
  }
  bool skip_uniform() noexcept {
    static constexpr std::array<std::uint64_t, 12> kSizes{1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16};
    std::uint8_t type = 0, padding = 0;
    std::uint32_t count = 0;
    return read(type) && type < kSizes.size() && read_swapped(count) && read(padding) && skip(padding) &&
           skip(count * kSizes[type]);
  }

  std::string_view rest_;
};

/// Reads an `rx_time`: whole seconds, and a fraction.
bool read_time(TagCursor& at, std::int64_t& time_ns) noexcept {
  std::uint32_t count = 0;
  double seconds = 0, fraction = 0;
  if (!at.take(Kind::tuple) || !at.read_swapped(count) || count != 2) return false;
  if (!at.number(seconds) || !at.number(fraction)) return false;
  if (!(std::fabs(seconds) < kMostSeconds) || !(std::fabs(fraction) <= 1)) return false;
  time_ns = static_cast<std::int64_t>(seconds) * 1'000'000'000 + std::llround(fraction * 1e9);
  return true;
}

bool read_tag(TagCursor& at, TagHeader& header, std::vector<TimeTag>& times) {
  std::uint64_t place = 0;
  std::string_view key;
  if (!at.read(place) || place >= kMostSamples || !at.symbol(key)) return false;
  if (key == "rx_time") {
    TimeTag tag{.sample = static_cast<std::int64_t>(place) - header.offset};
    if (tag.sample < 0 || !read_time(at, tag.time_ns)) return false;
    times.push_back(tag);
  } else if (key == "rx_rate") {
    if (!at.number(header.rate_hz) || !std::isfinite(header.rate_hz)) return false;
  } else if (!at.skip_value()) {
    return false;
  }
  return at.skip_value();  // the source of the tag
}

}  // namespace

std::optional<TagHeader> parse_tag_header(std::string_view message, std::vector<TimeTag>& times) {
  times.clear();
  TagCursor at(message);
  std::uint16_t magic = 0;
  std::uint8_t version = 0;
  std::uint64_t offset = 0, count = 0;
  if (!at.read(magic) || magic != kMagic || !at.read(version) || version != kVersion) return std::nullopt;
  if (!at.read(offset) || offset >= kMostSamples || !at.read(count)) return std::nullopt;
  TagHeader header{.offset = static_cast<std::int64_t>(offset)};
  for (; count > 0; --count)
    if (!read_tag(at, header, times)) return std::nullopt;
  header.bytes = message.size() - at.left();
  std::stable_sort(times.begin(), times.end(), [](const TimeTag& a, const TimeTag& b) { return a.sample < b.sample; });
  return header;
}

}  // namespace iqd::radio::zmq
