// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {

#define TARGET(name) void name(std::string_view input);
#include "tests/fuzz/targets.def"
#undef TARGET

std::span<const Target> targets() {
  static constexpr Target kTargets[] = {
#define TARGET(name) {#name, name},
#include "tests/fuzz/targets.def"
#undef TARGET
  };
  return kTargets;
}

const Target* find_target(std::string_view name) {
  const auto all = targets();
  const auto found = std::ranges::find(all, name, &Target::name);
  return found == all.end() ? nullptr : &*found;
}

void expect(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "this should hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace iqd::fuzz
