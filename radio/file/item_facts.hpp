// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "radio/file/growing_npy.hpp"

namespace iqd::radio {

/// The array of facts beside an array of items: row i belongs to item i. Fields: `block`, its number; `sample` and
/// `time_ns`, where the item begins, or else its message; then each fact under the key that a message's header has.
/// The facts' fields are known from the first message on.
class ItemFacts {
 public:
  /// Throws SetupError.
  explicit ItemFacts(const std::string& path);
  /// Whether a port has such items: all but bare samples [n] or [channel][n], and ports with one array per block.
  static bool describes(const PortFormat& format) noexcept;
  /// The memory that it needs for such a port.
  static std::size_t bytes(const PortFormat& format) noexcept;

  /// Appends a row for each item. A fact that the message lacks is 0, or NaN. Returns false, with `errno`, if the file
  /// takes no more.
  bool append(const Message& message);
  bool settle() { return file_.settle(); }

 private:
  struct Field {
    std::string key;
    Element element;
    std::size_t at;  // in the row
  };
  bool define(const Message& message);
  void fill_places(const Message& message);
  void fill(const Field& field, const FactColumn* column, std::int64_t items);
  std::byte* row(std::int64_t item) { return rows_.data() + static_cast<std::size_t>(item) * row_bytes_; }

  GrowingNpy file_;
  bool defined_ = false;
  std::vector<Field> fields_;
  std::size_t row_bytes_;
  std::vector<std::byte> rows_;  // of the current message
};

}  // namespace iqd::radio
