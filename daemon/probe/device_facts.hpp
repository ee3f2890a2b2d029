// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/backend.hpp"
#include "base/device_facts.hpp"

namespace iqd {

/// Cores, caches and vector instructions, as far as the system tells under `root`.
std::vector<DeviceFact> processor_facts(const std::filesystem::path& root);
/// How the device at this PCI address is connected, and where: nothing that the system does not tell.
std::vector<DeviceFact> slot_facts(const std::string& pci, const std::filesystem::path& root);
/// What matters to whoever writes a kernel for this backend. It becomes the calling thread's current device.
std::vector<DeviceFact> facts_of(Backend& backend, const std::filesystem::path& root = "/");

/// `228 KiB`, `1.98 GHz`, `4.81 TB/s`, `yes`: by the end of its key.
std::string value_text(const DeviceFact& fact);
/// The key without its unit, in words: `l2 cache`.
std::string title_of(const DeviceFact& fact);

}  // namespace iqd
