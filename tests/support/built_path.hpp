// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

namespace iqd {

/// A path known when the tests were built; if they were moved since, the environment's `variable` has the current one.
inline std::string built_path(const char* built, const char* variable) {
  const char* now = std::getenv(variable);
  return now && *now ? now : built;
}

}  // namespace iqd
