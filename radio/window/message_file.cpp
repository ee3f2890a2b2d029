// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/window/message_file.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "base/error.hpp"

namespace iqd::radio {
namespace {

constexpr std::int64_t kMostCount = 1LL << 53;

/// The numbers of a message; then come its payload, and a Column, a key and the values for each fact. Pieces of a
/// message start at multiples of 8 bytes.
struct Numbers {
  std::int64_t bytes;  // of all that follows
  std::int64_t payload, facts;
  std::int64_t block, samples, sample, position, time_ns, extent, gap, halo, tuned;
  double retuned_hz, was_retuned_hz, respanned_hz;
  std::int32_t time, calibrated;
};
struct Column {
  std::int64_t key, element, positions, samples;
};

constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

void put(std::vector<std::byte>& into, const void* from, std::size_t bytes) {
  const std::size_t at = into.size();
  into.resize(at + padded(bytes));
  if (bytes > 0) std::memcpy(into.data() + at, from, bytes);
}

/// What was put, piece by piece.
class Pieces {
 public:
  explicit Pieces(std::span<const std::byte> bytes) : left_(bytes) {}
  /// Empty if there is not so much.
  std::span<const std::byte> take(std::int64_t bytes) noexcept {
    const auto n = static_cast<std::size_t>(bytes);
    if (bytes < 0 || n > left_.size() || padded(n) > left_.size()) {
      are_good_ = false;
      return {};
    }
    const auto taken = left_.first(n);
    left_ = left_.subspan(padded(n));
    return taken;
  }
  template <class T> const T* take() noexcept {
    const auto taken = take(sizeof(T));
    return taken.empty() ? nullptr : reinterpret_cast<const T*>(taken.data());
  }
  /// All that was asked for was there.
  bool are_good() const noexcept { return are_good_; }
  bool are_taken() const noexcept { return are_good_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool are_good_ = true;
};

bool is_key(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
}

bool take_fact(Pieces& pieces, std::int64_t extent, FactColumn& fact) {
  const auto* const column = pieces.take<Column>();
  if (!column || column->element < 0 || column->element >= std::ssize(kElements) || column->positions < 1 ||
      column->samples < 1)
    return false;
  const auto key = pieces.take(column->key);
  const auto element = static_cast<Element>(column->element);
  const auto values = pieces.take(extent * static_cast<std::int64_t>(size_of(element)));
  fact = {{reinterpret_cast<const char*>(key.data()), key.size()},
          element,
          values.data(),
          column->positions,
          column->samples};
  return pieces.are_good() && is_key(fact.key);
}

}  // namespace

void put_message(const Message& m, std::vector<std::byte>& into) {
  const std::size_t begin = into.size();
  Numbers numbers{0,
                  static_cast<std::int64_t>(m.payload.size()),
                  std::ssize(m.facts),
                  static_cast<std::int64_t>(m.block),
                  m.samples,
                  m.sample,
                  m.position,
                  m.time_ns,
                  m.extent,
                  m.gap,
                  m.halo,
                  m.tuned,
                  m.retuned_hz,
                  m.was_retuned_hz,
                  m.respanned_hz,
                  static_cast<std::int32_t>(m.time),
                  m.calibrated};
  put(into, &numbers, sizeof numbers);
  put(into, m.payload.data(), m.payload.size());
  for (const FactColumn& f : m.facts) {
    const Column column{std::ssize(f.key), static_cast<std::int64_t>(f.element), f.positions, f.samples};
    put(into, &column, sizeof column);
    put(into, f.key.data(), f.key.size());
    put(into, f.values, static_cast<std::size_t>(m.extent) * size_of(f.element));
  }
  numbers.bytes = static_cast<std::int64_t>(into.size() - begin - sizeof numbers);
  std::memcpy(into.data() + begin, &numbers, sizeof numbers);
}

MessageFile::MessageFile(std::string path, const PortFormat& format)
    : path_(std::move(path)), format_(format), in_(path_, std::ios::binary) {
  std::error_code failed;
  left_ = std::filesystem::file_size(path_, failed);
  if (!in_ || failed) throw SetupError(path_ + ": cannot be read");
}

void MessageFile::read(void* into, std::size_t bytes) {
  if (bytes > left_ || !in_.read(static_cast<char*>(into), static_cast<std::streamsize>(bytes)))
    throw SetupError(path_ + ": is cut short");
  left_ -= bytes;
  hash_.add({static_cast<const std::byte*>(into), bytes});
}

bool MessageFile::next(Message& message) {
  if (left_ == 0) return false;
  const auto is_damaged = [this] { return SetupError(path_ + ": is damaged"); };
  Numbers n{};
  read(&n, sizeof n);
  if (n.bytes < 0 || static_cast<std::uint64_t>(n.bytes) > left_) throw is_damaged();
  bytes_.resize(static_cast<std::size_t>(n.bytes));
  read(bytes_.data(), bytes_.size());
  Pieces pieces(bytes_);
  const std::int64_t most = format_.varying < 0 ? 1 : format_.most();
  if (n.extent < 0 || n.extent > most || n.facts < 0 || n.facts > format_.facts ||
      n.payload != (n.extent == 0 ? 0 : format_.bytes(n.extent)) || n.time < 0 ||
      n.time > static_cast<int>(TimeSource::radio))
    throw is_damaged();
  for (const std::int64_t count : {n.block, n.samples, n.sample, n.gap, n.halo})
    if (count < 0 || count > kMostCount) throw is_damaged();
  const auto payload = pieces.take(n.payload);
  facts_.assign(static_cast<std::size_t>(n.facts), {});
  for (FactColumn& fact : facts_)
    if (!take_fact(pieces, n.extent, fact)) throw is_damaged();
  if (!pieces.are_taken()) throw is_damaged();
  message = {.format = &format_,
             .block = static_cast<std::uint64_t>(n.block),
             .samples = n.samples,
             .sample = n.sample,
             .position = n.position,
             .time_ns = n.time_ns,
             .time = static_cast<TimeSource>(n.time),
             .extent = n.extent,
             .gap = n.gap,
             .halo = n.halo,
             .retuned_hz = n.retuned_hz,
             .was_retuned_hz = n.was_retuned_hz,
             .respanned_hz = n.respanned_hz,
             .tuned = n.tuned,
             .calibrated = n.calibrated != 0,
             .payload = payload,
             .facts = facts_};
  return true;
}

}  // namespace iqd::radio
