// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/instructions.hpp"

#include <hwy/targets.h>

#include <cstdint>

namespace iqd {

namespace {

/// Best first. Among Highway's bits, a lower one is a better target.
std::vector<std::int64_t> targets() {
  // With one target, as on arm64, Highway calls its code without asking the CPU. If asked, it would deny NEON to CPUs
  // without AES, such as the Raspberry Pi 4's.
  if constexpr ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0) return {HWY_STATIC_TARGET};
  return hwy::SupportedAndGeneratedTargets();
}

}  // namespace

std::vector<std::string> vector_instructions() {
  std::vector<std::string> names;
  for (const std::int64_t target : targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

bool limit_instructions(std::string_view name) {
  for (const std::int64_t target : targets()) {
    if (name != hwy::TargetName(target)) continue;
    hwy::DisableTargets(target - 1);
    return true;
  }
  return false;
}

}  // namespace iqd
