// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Reports a problem if `name` is no backend's name.
void check_backend(const std::string& name, const Section& section);

/// The backends that the file names, stages included.
std::vector<std::string> wanted_backends(const PipelineSpec& spec);

/// The devices that these may be, by full name: `cuda:0` for `cuda` and `auto`, nothing for `cpu`.
std::vector<std::string> wanted_devices(const PipelineSpec& spec);

/// Several backends must all be different devices; a stage may run on the CPU, but not on another device.
void check_backends(const PipelineSpec& spec);

}  // namespace iqd
