// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Whether it is the name of a backend.
void check_backend(const std::string& name, const Section& section);

/// Of several backends all have to be devices, and different ones; stages may leave the device, but not for another.
void check_backends(const PipelineSpec& spec);

}  // namespace iqd
