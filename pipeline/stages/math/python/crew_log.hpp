// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace iqd::python {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

/// What a stage's processes print and raise, as lines of the daemon's log. A function that prints in each block is cut
/// down; an exception is logged once for each kind.
class CrewLog {
 public:
  explicit CrewLog(std::string label) : label_(std::move(label)) {}
  void printed(std::string_view text, std::int64_t now_ns);
  /// Once for each kind.
  void raised(const std::string& kind, std::string_view traceback);
  /// A process ended or was killed; at most once a second.
  void lost(std::string_view why, std::int64_t now_ns);

 private:
  void line(std::string_view text, std::int64_t now_ns);

  const std::string label_;
  std::string unfinished_;
  std::int64_t second_ns_ = 0;  // when the current second of lines began
  std::int64_t lines_ = 0;      // in it
  std::int64_t left_out_ = 0;
  std::set<std::string> kinds_;
  std::int64_t next_loss_ns_ = 0;
  std::int64_t losses_ = 0;
};

}  // namespace iqd::python
