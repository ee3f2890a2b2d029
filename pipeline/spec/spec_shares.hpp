// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Finds how the pipelines divide their devices: `shares` and `urgency` of each. Reports shares that are none, that
/// have no effect, and percentages that exceed a device. Whether the rest fits, only the device knows.
void divide_devices(Spec& spec);

/// Whether both get the same part of their devices. One without a share depends on those of the others.
bool same_part(const PipelineSpec& one, const PipelineSpec& other);

}  // namespace iqd
