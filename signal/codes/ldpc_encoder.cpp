// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/ldpc_encoder.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>

namespace iqd {
namespace {

using Steps = std::vector<LdpcEncoder::Step>;
using Terms = std::vector<LdpcEncoder::Term>;

/// The inverse of the core over GF(2), in blocks: they are circulant, as those of the core are, so one column of each
/// suffices.
class CoreInverse {
 public:
  explicit CoreInverse(const LdpcCode& code)
      : lift_(code.lift), size_(std::int64_t{code.core} * code.lift), pitch_((size_ + code.core + 63) / 64) {
    // Rows of equations: the core, and at its right the first unit vector of each block.
    rows_.resize(static_cast<std::size_t>(size_ * pitch_));
    for (const LdpcEntry& e : code.entries) {
      if (e.row >= code.core || e.column < code.information()) continue;
      for (int i = 0; i < lift_; ++i)
        flip(e.row * lift_ + i, (e.column - code.information()) * lift_ + (i + e.shift) % lift_);
    }
    for (int r = 0; r < code.core; ++r) flip(r * lift_, size_ + r);
    for (std::int64_t column = 0; column < size_; ++column) eliminate(column);
  }

  /// Whether element `i` of unknown block `column` takes element 0 of the sum of row `row`.
  bool at(int column, int i, int row) const { return test(column * lift_ + i, size_ + row); }

 private:
  std::uint64_t* row(std::int64_t r) { return &rows_[static_cast<std::size_t>(r * pitch_)]; }
  bool test(std::int64_t r, std::int64_t column) const {
    return (rows_[static_cast<std::size_t>(r * pitch_ + column / 64)] >> (column % 64) & 1) != 0;
  }
  void flip(std::int64_t r, std::int64_t column) { row(r)[column / 64] ^= std::uint64_t{1} << (column % 64); }

  void eliminate(std::int64_t column) {
    std::int64_t pivot = column;
    while (pivot < size_ && !test(pivot, column)) ++pivot;
    if (pivot == size_) throw std::invalid_argument("the core of an LDPC code is not invertible");
    if (pivot != column) std::swap_ranges(row(pivot), row(pivot) + pitch_, row(column));
    const std::uint64_t* const from = row(column);
    for (std::int64_t r = 0; r < size_; ++r) {
      if (r == column || !test(r, column)) continue;
      std::uint64_t* const to = row(r);
      for (std::int64_t w = column / 64; w < pitch_; ++w) to[w] ^= from[w];
    }
  }

  int lift_;
  std::int64_t size_, pitch_;
  std::vector<std::uint64_t> rows_;
};

/// Finds the steps of a code.
class StepFinder {
 public:
  explicit StepFinder(const LdpcCode& code)
      : code_(code), known_(static_cast<std::size_t>(code.columns), false), left_(code.core) {
    std::fill_n(known_.begin(), code.information(), true);
    for (int row = 0; row < code.core; ++row) sum(row);
    solve_core();
    for (int row = code.core; row < code.rows; ++row) extend(row);
  }

  Steps steps;
  Terms terms;

 private:
  bool is_known(const LdpcEntry& e) const { return known_[static_cast<std::size_t>(e.column)]; }
  std::span<const LdpcEntry> entries(int row) const {
    const auto first = std::ranges::lower_bound(code_.entries, row, {}, &LdpcEntry::row);
    const auto end = std::ranges::upper_bound(code_.entries, row, {}, &LdpcEntry::row);
    return code_.entries.subspan(static_cast<std::size_t>(first - code_.entries.begin()),
                                 static_cast<std::size_t>(end - first));
  }
  std::int16_t turned(int shift) const {
    return static_cast<std::int16_t>((shift % code_.lift + code_.lift) % code_.lift);
  }
  void add(int column, int shift) { terms.push_back({static_cast<std::int16_t>(column), turned(shift)}); }
  void finish(int column, std::size_t first) {
    steps.push_back({column, static_cast<std::int32_t>(first), static_cast<std::int32_t>(terms.size())});
    if (column >= code_.columns) return;
    known_[static_cast<std::size_t>(column)] = true;
  }

  /// The sum of the information bits of a row of the core.
  void sum(int row) {
    const std::size_t first = terms.size();
    for (const LdpcEntry& e : entries(row))
      if (e.column < code_.information()) add(e.column, e.shift);
    finish(code_.columns + row, first);
  }

  void solve_core() {
    while (left_ > 0) {
      --left_;
      if (!peel()) invert(heaviest());
    }
  }
  /// Solves a row with one unknown circulant, if there is one.
  bool peel() {
    for (int row = 0; row < code_.core; ++row) {
      const auto of_row = entries(row);
      const auto unknown = [this](const LdpcEntry& e) { return !is_known(e); };
      if (std::ranges::count_if(of_row, unknown) != 1) continue;
      const LdpcEntry& last = *std::ranges::find_if(of_row, unknown);
      const std::size_t first = terms.size();
      add(code_.columns + row, -last.shift);
      for (const LdpcEntry& e : of_row)
        if (e.column >= code_.information() && e.column != last.column) add(e.column, e.shift - last.shift);
      finish(last.column, first);
      return true;
    }
    return false;
  }
  int heaviest() const {
    std::vector<int> weights(static_cast<std::size_t>(code_.columns));
    for (const LdpcEntry& e : code_.entries)
      if (e.row < code_.core && !is_known(e)) ++weights[static_cast<std::size_t>(e.column)];
    return static_cast<int>(std::ranges::max_element(weights) - weights.begin());
  }
  void invert(int column) {
    if (!inverse_) inverse_.emplace(code_);
    const std::size_t first = terms.size();
    for (int row = 0; row < code_.core; ++row)
      for (int i = 0; i < code_.lift; ++i)
        if (inverse_->at(column - code_.information(), i, row)) add(code_.columns + row, -i);
    finish(column, first);
  }
  void extend(int row) {
    const int own = code_.information() + row;
    const auto of_row = entries(row);
    const auto last = std::ranges::find(of_row, own, &LdpcEntry::column);
    const auto late = [this](const LdpcEntry& e) { return !is_known(e); };
    if (last == of_row.end() || std::ranges::count_if(of_row, late) != 1)
      throw std::invalid_argument("row " + std::to_string(row) + " of an LDPC code does not determine its column");
    const std::size_t first = terms.size();
    for (const LdpcEntry& e : of_row)
      if (e.column != own) add(e.column, e.shift - last->shift);
    finish(own, first);
  }

  const LdpcCode& code_;
  std::vector<bool> known_;
  int left_;  // unknown columns of the core
  std::optional<CoreInverse> inverse_;
};

/// Eight bits at once.
void xor_bits(std::uint8_t* sum, const std::uint8_t* bits, std::size_t count) noexcept {
  for (; count >= 8; sum += 8, bits += 8, count -= 8) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, sum, 8);
    std::memcpy(&b, bits, 8);
    a ^= b;
    std::memcpy(sum, &a, 8);
  }
  for (; count > 0; --count) *sum++ ^= *bits++;
}

}  // namespace

LdpcEncoder::LdpcEncoder(const LdpcCode& code) : lift_(code.lift), blocks_(code.columns + code.core) {
  StepFinder found(code);
  steps_ = std::move(found.steps);
  terms_ = std::move(found.terms);
}

void LdpcEncoder::encode(std::span<std::uint8_t> word) const noexcept {
  const auto z = static_cast<std::size_t>(lift_);
  for (const Step& step : steps_) {
    std::uint8_t* const to = &word[static_cast<std::size_t>(step.column) * z];
    std::fill_n(to, z, std::uint8_t{0});
    for (std::int32_t t = step.first; t < step.end; ++t) {
      const Term term = terms_[static_cast<std::size_t>(t)];
      const std::uint8_t* const from = &word[static_cast<std::size_t>(term.column) * z];
      const auto shift = static_cast<std::size_t>(term.shift);
      xor_bits(to, from + shift, z - shift);
      xor_bits(to + z - shift, from, shift);
    }
  }
}

}  // namespace iqd
