// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/plan/plan.hpp"

namespace iqd::fusion {

/// Fuses each run of neighbouring element-wise steps on one side into one step. Ports between them disappear, and
/// need no memory. Must be called before reach and places of ports are computed.
void fuse_neighbours(Plan& plan, bool device_fuses);

}  // namespace iqd::fusion
