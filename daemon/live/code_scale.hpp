// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "daemon/live/live_head.hpp"

namespace iqd::live {

/// The code of a level: 1 for `low_db` and below (also minus infinity), one more for each `step_db`, 255 for the highest
/// and above. 0 for NaN.
std::uint8_t code_of(float db, float low_db, float step_db) noexcept;

/// The range of levels that a trace's codes cover: 127 dB from -130 dB on, unless its values lie elsewhere.
class CodeScale {
 public:
  static constexpr float kLowDb = -130;
  static constexpr float kStepDb = 0.5F;
  static constexpr float kWidthDb = 254 * kStepDb;

  /// A row follows whose largest value is this. A value above the range moves it at once; it moves back or down only
  /// when many rows agree.
  void fit(float most_db) noexcept;
  std::uint8_t code(float db) const noexcept { return code_of(db, low_db_, kStepDb); }
  float low_db() const noexcept { return low_db_; }
  void describe(Head& head) const noexcept;

 private:
  static float low_for(float most_db) noexcept;

  float low_db_ = kLowDb;
  int rows_apart_ = 0;  // consecutive ones that another range suits better
};

}  // namespace iqd::live
