// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/code_scale.hpp"

#include <algorithm>
#include <cmath>

namespace iqd::live {
namespace {

/// A trace whose largest value is less than this above code 1 lies too low in the range.
constexpr float kLeastDb = 40;
/// Ten seconds of rows.
constexpr int kRowsUntilMove = 300;

}  // namespace

std::uint8_t code_of(float db, float low_db, float step_db) noexcept {
  if (std::isnan(db)) return 0;
  const float steps = std::clamp((db - low_db) / step_db, 0.0F, 254.0F);
  return static_cast<std::uint8_t>(1 + std::lround(steps));
}

/// The default range if it fits, else one that ends up to 10 dB above the value, or begins 80 to 90 dB below it.
float CodeScale::low_for(float most_db) noexcept {
  if (most_db > kLowDb + kWidthDb) return std::min(200.0F, 10 * std::ceil((most_db - kWidthDb) / 10));
  if (most_db < kLowDb + kLeastDb) return std::max(-320.0F, 10 * std::floor((most_db - 80) / 10));
  return kLowDb;
}

void CodeScale::fit(float most_db) noexcept {
  if (!std::isfinite(most_db)) return;
  const float low = low_for(most_db);
  const bool fits = most_db <= low_db_ + kWidthDb;
  rows_apart_ = fits && low < low_db_ ? rows_apart_ + 1 : 0;
  if (fits && rows_apart_ < kRowsUntilMove) return;
  low_db_ = low;
  rows_apart_ = 0;
}

void CodeScale::describe(Head& head) const noexcept {
  head.low_cdb = static_cast<std::int16_t>(std::lround(100 * low_db_));
  head.step_mdb = static_cast<std::uint16_t>(std::lround(1000 * kStepDb));
}

}  // namespace iqd::live
