// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/sub/message_text.hpp"

#include <algorithm>

#include "base/printable.hpp"

namespace iqd {
namespace {

using nlohmann::json;

/// The facts of the items, one object each; null if the header has none.
const json* facts_of(const MessageView& m) {
  const auto dims = m.header.find("dims");
  if (dims == m.header.end() || !dims->is_array() || dims->empty() || !dims->front().is_string()) return nullptr;
  const auto facts = m.header.find(dims->front().get<std::string>() + "s");
  return facts != m.header.end() && facts->is_array() ? &*facts : nullptr;
}

/// The row cut to its item's length.
std::string_view shortened(std::string_view row, const json* facts, std::size_t item) {
  if (facts != nullptr && item < facts->size() && (*facts)[item].is_object()) {
    const auto length = (*facts)[item].find("length");
    if (length != (*facts)[item].end() && length->is_number_unsigned())
      return row.substr(0, std::min(row.size(), length->get<std::size_t>()));
  }
  return row.substr(0, row.find_last_not_of('\0') + 1);
}

}  // namespace

std::vector<std::string> text_lines(const MessageView& m) {
  std::vector<std::string> lines;
  if (m.dtype != "<u1" || m.payload.empty() || m.shape.empty()) return lines;
  const std::string_view bytes(reinterpret_cast<const char*>(m.payload.data()), m.payload.size());
  const auto row = static_cast<std::size_t>(m.shape.back());
  const std::size_t rows_of_item = bytes.size() / row / static_cast<std::size_t>(m.shape.front());
  const json* const facts = m.shape.size() > 1 ? facts_of(m) : nullptr;
  for (std::size_t r = 0; r * row < bytes.size(); ++r)
    lines.push_back(
        printable(shortened(bytes.substr(r * row, row), facts, r / std::max<std::size_t>(1, rows_of_item))));
  return lines;
}

}  // namespace iqd
