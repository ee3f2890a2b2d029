// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

namespace iqd {

/// A path that was known when the tests were built; where they were moved since, `variable` says the one of today.
inline std::string built_path(const char* built, const char* variable) {
  const char* now = std::getenv(variable);
  return now && *now ? now : built;
}

}  // namespace iqd
