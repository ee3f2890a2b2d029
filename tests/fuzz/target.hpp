// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <span>
#include <string_view>

namespace iqd::fuzz {

/// One thing that takes bytes from outside, tried with any bytes.
struct Target {
  std::string_view name;  // of its folder in corpus/
  /// Ends the program where what was made of the input is wrong. Throws nothing.
  void (*run)(std::string_view input);
};
/// For GoogleTest.
inline void PrintTo(const Target& target, std::ostream* out) {
  *out << target.name;
}
std::span<const Target> targets();
/// Null where there is none of that name.
const Target* find_target(std::string_view name);

/// Words that mean something to the YAML reader, a line each as libFuzzer's dictionaries have it: keys, their choices,
/// stages and drivers.
void print_words();

/// Ends the program, and says why, where `holds` is false.
void expect(bool holds, std::string_view what);

}  // namespace iqd::fuzz
