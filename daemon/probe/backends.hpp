// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/backend.hpp"
#include "base/device_facts.hpp"

namespace iqd {

/// A backend that this program supports, and whether this machine has it.
struct FoundBackend {
  std::string name;  // as in YAML
  std::string device;
  MemoryBudget memory;
  std::string missing;                 // why it is not available; empty if it is
  std::vector<std::string> details{};  // driver, clocks, link; one line each
  std::vector<DeviceFact> facts{};     // for authors of kernels
};

/// The CPU first, then every CUDA device, or one entry `cuda` that says why there is none.
std::vector<FoundBackend> find_backends();

}  // namespace iqd
