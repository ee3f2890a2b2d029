// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/ldpc_code.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "signal/codes/ldpc_codes.hpp"
#include "signal/codes/nr_codes.hpp"

namespace iqd {
namespace {

constexpr std::size_t kMostLift = 512;
static_assert(std::ranges::all_of(kLdpcCodes, [](const LdpcCode& code) { return code.lift <= int{kMostLift}; }));

/// Eight bits at once.
void add_bits(std::uint8_t* sum, const std::uint8_t* bits, std::size_t count) noexcept {
  for (; count >= 8; sum += 8, bits += 8, count -= 8) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, sum, 8);
    std::memcpy(&b, bits, 8);
    a ^= b;
    std::memcpy(sum, &a, 8);
  }
  for (; count > 0; --count) *sum++ ^= *bits++;
}

/// The sum of the bits of one block of rows.
class RowSum {
 public:
  explicit RowSum(int lift) noexcept : lift_(static_cast<std::size_t>(lift)) {}

  /// Adds the entry's circulant times its block of columns: element (i + shift) mod lift to element i.
  void add(const LdpcEntry& entry, std::span<const std::uint8_t> word) noexcept {
    const auto shift = static_cast<std::size_t>(entry.shift);
    const auto block = word.subspan(static_cast<std::size_t>(entry.column) * lift_, lift_);
    add_bits(sum_.data(), block.data() + shift, lift_ - shift);
    add_bits(sum_.data() + lift_ - shift, block.data(), shift);
  }
  /// Writes the block of columns that makes the row's sum zero.
  void solve(int column, int shift, std::span<std::uint8_t> word) const noexcept {
    const auto block = word.subspan(static_cast<std::size_t>(column) * lift_, lift_);
    std::rotate_copy(sum_.begin(), sum_.begin() + static_cast<std::ptrdiff_t>(lift_) - shift,
                     sum_.begin() + static_cast<std::ptrdiff_t>(lift_), block.begin());
  }

 private:
  std::size_t lift_;
  std::array<std::uint8_t, kMostLift> sum_{};
};

}  // namespace

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
  for (const auto codes : {ldpc_codes(), nr_codes()}) {
    const auto at = std::ranges::find(codes, name, &LdpcCode::name);
    if (at != codes.end()) return &*at;
  }
  return nullptr;
}

std::string ldpc_code_names() {
  std::string names;
  for (const LdpcCode& code : ldpc_codes()) names.append(code.name).append(", ");
  return names + "nr_bg1_z2 … nr_bg1_z384, nr_bg2_z2 … nr_bg2_z384";
}

std::span<const std::string_view> enum_names(LdpcChoice) {
  static constexpr auto kNames = [] {
    std::array<std::string_view, 1 + std::size(kLdpcCodes)> names{"none"};
    std::ranges::transform(kLdpcCodes, names.begin() + 1, &LdpcCode::name);
    return names;
  }();
  return kNames;
}

const LdpcCode* code_of(LdpcChoice choice) noexcept {
  return choice == LdpcChoice::none ? nullptr : &kLdpcCodes[static_cast<std::size_t>(choice) - 1];
}

void ldpc_encode(const LdpcCode& code, std::span<const std::uint8_t> bits, std::span<std::uint8_t> word) noexcept {
  const int known = code.columns - code.rows;
  std::transform(bits.begin(), bits.end(), word.begin(),
                 [](std::uint8_t b) { return static_cast<std::uint8_t>(b & 1); });
  RowSum all(code.lift);
  for (const LdpcEntry& e : code.entries)
    if (e.column < known) all.add(e, word);
  all.solve(known, code.first_parity_shift(), word);

  // Each row but the last ends in a parity block that no row above it uses.
  auto entry = code.entries.begin();
  for (int row = 0; row + 1 < code.rows; ++row) {
    RowSum sum(code.lift);
    for (; std::next(entry)->row == row; ++entry) sum.add(*entry, word);
    sum.solve(entry->column, entry->shift, word);
    ++entry;
  }
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
