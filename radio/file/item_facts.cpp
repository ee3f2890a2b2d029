// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/item_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/integer.hpp"
#include "base/item_start.hpp"
#include "radio/message_part.hpp"

namespace iqd::radio {
namespace {

/// The fields of every row.
struct Place {
  std::int64_t block, sample, time_ns;
};
constexpr const char* kPlace = "('block', '<i8'), ('sample', '<i8'), ('time_ns', '<i8')";

const FactColumn* find_column(const Message& message, std::string_view key) noexcept {
  const auto found = std::ranges::find(message.facts, key, &FactColumn::key);
  return found == message.facts.end() ? nullptr : &*found;
}

/// Where the items of a message begin.
SampleIndex begin_of(const Message& message, const FactColumn* starts, std::int64_t item) noexcept {
  if (starts) return start_of(*starts, item);
  const PortFormat& format = *message.format;
  if (!(format.item_rate_hz > 0 && format.rate_hz > 0)) return message.sample;
  return message.sample + std::llround(static_cast<double>(item) * format.rate_hz / format.item_rate_hz);
}

/// What stands for a missing fact.
template <class T> T nothing() noexcept {
  if constexpr (std::is_same_v<T, cf32>)
    return {std::numeric_limits<float>::quiet_NaN(), 0};
  else if constexpr (std::is_same_v<T, f16>)
    return to_f16(std::numeric_limits<float>::quiet_NaN());
  else if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::quiet_NaN();
  else
    return {};
}

}  // namespace

ItemFacts::ItemFacts(const std::string& path)
    : file_(path, fmt::format("[{}]", kPlace), {}, sizeof(Place)), row_bytes_(sizeof(Place)) {}

bool ItemFacts::describes(const PortFormat& format) noexcept {
  return format.varying >= 0 && !is_stream(format);
}

std::size_t ItemFacts::bytes(const PortFormat& format) noexcept {
  if (!describes(format)) return 0;
  const std::size_t row = sizeof(Place) + static_cast<std::size_t>(format.facts) * sizeof(std::int64_t);
  return bounded_bytes(format.most(), row);
}

bool ItemFacts::append(const Message& message) {
  if (message.extent == 0) return true;
  if (!defined_ && !define(message)) return false;
  rows_.resize(static_cast<std::size_t>(message.extent) * row_bytes_);
  fill_places(message);
  for (const Field& field : fields_) fill(field, find_column(message, field.key), message.extent);
  return file_.append(rows_);
}

/// Takes the fields from the first message.
bool ItemFacts::define(const Message& message) {
  std::string descr = fmt::format("[{}", kPlace);
  for (const FactColumn& column : message.facts) {
    fields_.push_back({std::string(column.key), column.element, row_bytes_});
    row_bytes_ += size_of(column.element);
    const bool pairs = column.element == Element::sc16;
    descr += fmt::format(", ('{}', '{}'{})", column.key, traits(column.element).dtype, pairs ? ", (2,)" : "");
  }
  defined_ = true;
  return message.facts.empty() || file_.redefine(descr + "]", static_cast<std::int64_t>(row_bytes_));
}

void ItemFacts::fill_places(const Message& message) {
  const FactColumn* starts = find_column(message, "start");
  if (starts && !has_starts(*starts)) starts = nullptr;
  for (std::int64_t i = 0; i < message.extent; ++i) {
    const SampleIndex begin = begin_of(message, starts, i);
    const Place place{static_cast<std::int64_t>(message.block), begin, time_of(message, begin)};
    std::memcpy(row(i), &place, sizeof place);
  }
}

void ItemFacts::fill(const Field& field, const FactColumn* column, std::int64_t items) {
  if (column && column->element != field.element) column = nullptr;
  const bool starts = column && has_starts(*column);
  with_element(field.element, [&]<class T>(T) {
    for (std::int64_t i = 0; i < items; ++i) {
      T value = nothing<T>();
      if (column)
        std::memcpy(static_cast<void*>(&value), column->values + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
      if constexpr (std::is_same_v<T, std::int64_t>)
        if (starts) value = start_of(*column, i);
      std::memcpy(row(i) + field.at, &value, sizeof(T));
    }
  });
}

}  // namespace iqd::radio
