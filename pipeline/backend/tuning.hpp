// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

/// What measured times depend on besides the device: they hold for the same driver and the same kernels.
struct MeasuredWith {
  std::string driver;   // empty for the CPU
  std::string kernels;  // see `kernel_mark`
  friend bool operator==(const MeasuredWith&, const MeasuredWith&) = default;
};
/// Of this program on this device. `details` are the backend's, `root` is `/`.
MeasuredWith measured_with(const std::vector<std::string>& details, const std::filesystem::path& root = "/");
/// `580.159.03`: the version of the NVIDIA driver that is loaded; `unknown version`.
std::string nvidia_driver(const std::filesystem::path& root);

/// Times that `iqd tune FILE` has measured on a device, in microseconds, by name.
using Times = std::map<std::string, double>;
struct TunedTimes {
  Times us;               // empty if they are stale
  bool is_stale = false;  // there are some, but of another driver or of other kernels
};
/// Nothing if none were measured or the file cannot be read (which is logged).
TunedTimes tuned_times(const std::string& device, const MeasuredWith& now);
/// Adds these times to those that were measured with the same driver and kernels, and drops all others. Keeps the other
/// contents of the file. Throws SetupError.
void store_times(const std::string& device, const MeasuredWith& now, const Times& times);

/// The limits that were measured on this machine, else the backend's own.
MappedLimits mapped_limits_of(const Backend& backend);

}  // namespace iqd
