// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/instructions.hpp"

#include <hwy/targets.h>

namespace iqd {

// Among Highway's bits, a lower one is a better target.

std::vector<std::string> vector_instructions() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

bool limit_instructions(std::string_view name) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    hwy::DisableTargets(target - 1);
    return true;
  }
  return false;
}

}  // namespace iqd
