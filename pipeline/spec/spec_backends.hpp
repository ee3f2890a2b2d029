// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Reports a problem if `name` is no backend's name.
void check_backend(const std::string& name, const Section& section);

/// Several backends must all be different devices; a stage may run on the CPU, but not on another device.
void check_backends(const PipelineSpec& spec);

}  // namespace iqd
