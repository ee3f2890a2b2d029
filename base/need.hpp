// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace iqd {

/// What something takes of the host, as it is configured.
struct Need {
  std::string what;       // `ring, 409600 samples`; `socket tcp://*:5555`
  std::size_t bytes = 0;  // of memory, once samples flow
  std::size_t more = 0;   // beyond these at most, while a disk or a reader is behind
  int threads = 0;
  int files = 0;        // descriptors
  bool shared = false;  // several that say the same are one
};
using Needs = std::vector<Need>;

constexpr double megabytes(std::size_t bytes) noexcept {
  return static_cast<double>(bytes) / 1e6;
}

}  // namespace iqd
