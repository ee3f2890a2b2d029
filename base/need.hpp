// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace iqd {

/// Resources of the host that a configured part needs.
struct Need {
  std::string what;       // `ring, 409600 samples`; `socket tcp://*:5555`
  std::size_t bytes = 0;  // memory once samples flow
  std::size_t more = 0;   // extra memory at most, while a disk or a reader falls behind
  int threads = 0;
  int files = 0;        // descriptors
  bool shared = false;  // equal entries count once
};
using Needs = std::vector<Need>;

constexpr double megabytes(std::size_t bytes) noexcept {
  return static_cast<double>(bytes) / 1e6;
}

}  // namespace iqd
