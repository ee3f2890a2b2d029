// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <span>
#include <string_view>

namespace iqd::fuzz {

/// A fuzz target: code that takes bytes from outside, run with any bytes.
struct Target {
  std::string_view name;  // of its folder in corpus/
  /// Aborts if the result for this input is wrong. Throws nothing.
  void (*run)(std::string_view input);
};
/// For GoogleTest.
inline void PrintTo(const Target& target, std::ostream* out) {
  *out << target.name;
}
std::span<const Target> targets();
/// Null if there is none of that name.
const Target* find_target(std::string_view name);

/// Words that the YAML reader knows, one per line in libFuzzer's dictionary format: keys, their choices, stages and
/// drivers.
void print_words();

/// Aborts with a message if `holds` is false.
void expect(bool holds, std::string_view what);

}  // namespace iqd::fuzz
