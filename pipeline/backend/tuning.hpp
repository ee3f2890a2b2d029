// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/backend.hpp"
#include "base/convolution.hpp"

namespace iqd {

/// The file with a device's measurements: in $STATE_DIRECTORY, $XDG_STATE_HOME/iqd, ~/.local/state/iqd or /var/lib/iqd,
/// whichever is set first. One file per kind of device.
std::filesystem::path tuning_file(const std::string& device);

/// Up to how many bytes a device is faster on the host's memory, as measured by `iqd tune`; nothing if it was not
/// measured or the file cannot be read (which is logged).
std::optional<std::size_t> tuned_mapped_bytes(const std::string& device);
/// Keeps the other contents of the file. Throws SetupError.
void store_tuning(const std::string& device, std::size_t mapped_bytes);

/// The fastest convolution for this shape on this device, as measured by `iqd tune --convolution`; nothing if it was
/// not measured.
std::optional<ConvolutionChoice> tuned_convolution(const std::string& device, const ConvolutionShape& shape);
/// Keeps the other contents of the file. Throws SetupError.
void store_convolution(const std::string& device, const ConvolutionShape& shape, const ConvolutionChoice& choice);

/// The limits that were measured on this machine, else the backend's own.
MappedLimits mapped_limits_of(const Backend& backend);

}  // namespace iqd
