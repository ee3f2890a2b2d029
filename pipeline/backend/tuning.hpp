// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/backend.hpp"
#include "base/convolution.hpp"

namespace iqd {

/// Where what was measured of a device is kept: under $STATE_DIRECTORY, $XDG_STATE_HOME/iqd, ~/.local/state/iqd or
/// /var/lib/iqd, the first that is named. A file per kind of device.
std::filesystem::path tuning_file(const std::string& device);

/// Up to how many bytes a device is quicker on the host's memory, as `iqd tune` found; nothing where it was not asked,
/// or the file cannot be read (which is said in the log).
std::optional<std::size_t> tuned_mapped_bytes(const std::string& device);
/// What the file holds besides is kept. Throws SetupError.
void store_tuning(const std::string& device, std::size_t mapped_bytes);

/// How `iqd tune --convolution` found this shape quickest on this device; nothing where it was not asked.
std::optional<ConvolutionChoice> tuned_convolution(const std::string& device, const ConvolutionShape& shape);
/// What the file holds besides is kept. Throws SetupError.
void store_convolution(const std::string& device, const ConvolutionShape& shape, const ConvolutionChoice& choice);

/// The backend's own limits, or what was measured here.
MappedLimits mapped_limits_of(const Backend& backend);

}  // namespace iqd
