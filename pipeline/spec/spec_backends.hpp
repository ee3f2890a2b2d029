// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/plan/plan.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Whether a key `backend` names devices.
bool names_devices(const std::vector<std::string>& backend);

/// The backends that a pipeline needs, and which of them its stages use.
struct BackendUse {
  std::vector<std::string> names;   // `cpu` or `auto` alone, or devices, each once
  std::vector<DeviceGroup> groups;  // by their places in `names`; the first is that of stages that name no device

  /// The group of this list of devices, as a file names them: `cuda` means the pipeline's.
  std::size_t group_of(const std::vector<std::string>& backend) const;
};
/// Of a pipeline on the CPU or on `auto`, the first stage that names a device also chooses that of the others.
BackendUse backends_of(const PipelineSpec& spec);

/// The devices that these may be, by full name: `cuda:0` for `cuda` and `auto`, nothing for `cpu`.
std::vector<std::string> wanted_devices(const PipelineSpec& spec);

/// The names must exist. Several must all be different devices, in a stage, too.
void check_backends(const PipelineSpec& spec);

}  // namespace iqd
