// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/backend.hpp"
#include "base/device_facts.hpp"

namespace iqd {

/// Cores, caches and vector instructions, as far as the system shows them below `root`.
std::vector<DeviceFact> processor_facts(const std::filesystem::path& root);
/// PCI Express link and NUMA node of the device at this PCI address, as far as the system shows them.
std::vector<DeviceFact> slot_facts(const std::string& pci, const std::filesystem::path& root);
/// Facts for authors of kernels. Makes the backend the calling thread's current device.
std::vector<DeviceFact> facts_of(Backend& backend, const std::filesystem::path& root = "/");

/// `228 KiB`, `1.98 GHz`, `4.81 TB/s`, `yes`: the key's ending gives the unit.
std::string value_text(const DeviceFact& fact);
/// The key in words, without its unit: `l2 cache`.
std::string title_of(const DeviceFact& fact);

}  // namespace iqd
