// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/ldpc_code.hpp"

#include <algorithm>

#include "signal/codes/irig_codes.hpp"
#include "signal/codes/ldpc_codes.hpp"
#include "signal/codes/nr_codes.hpp"

namespace iqd {

LdpcCode LdpcCode::first_rows(int count) const noexcept {
  LdpcCode part = *this;
  part.rows = count;
  part.columns = information() + count;
  part.entries = entries.first(
      static_cast<std::size_t>(std::ranges::lower_bound(entries, count, {}, &LdpcEntry::row) - entries.begin()));
  return part;
}

std::span<const LdpcCode> ldpc_codes() {
  return kLdpcCodes;
}

const LdpcCode* find_ldpc_code(std::string_view name) {
  for (const auto codes : {ldpc_codes(), irig_codes(), nr_codes()}) {
    const auto at = std::ranges::find(codes, name, &LdpcCode::name);
    if (at != codes.end()) return &*at;
  }
  return nullptr;
}

std::string ldpc_code_names() {
  std::string names;
  for (const auto codes : {ldpc_codes(), irig_codes()})
    for (const LdpcCode& code : codes) names.append(code.name).append(", ");
  return names + "nr_bg1_z2 … nr_bg1_z384, nr_bg2_z2 … nr_bg2_z384";
}

bool ldpc_valid(const LdpcCode& code, std::span<const std::uint8_t> word) noexcept {
  const auto z = static_cast<std::size_t>(code.lift);
  for (auto entry = code.entries.begin(); entry != code.entries.end();) {
    const auto end = std::find_if(entry, code.entries.end(), [&](const LdpcEntry& e) { return e.row != entry->row; });
    for (std::size_t i = 0; i < z; ++i) {
      int sum = 0;
      for (auto e = entry; e != end; ++e)
        sum ^= word[static_cast<std::size_t>(e->column) * z + (i + static_cast<std::size_t>(e->shift)) % z];
      if ((sum & 1) != 0) return false;
    }
    entry = end;
  }
  return true;
}

}  // namespace iqd
