// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "pipeline/plan/plan.hpp"

namespace iqd::fusion {

/// Makes one step of each run of element-wise neighbours on these sides. What lies between them is no port any more, so
/// it has no memory. Before it is known how far ports reach and where they lie.
void fuse_neighbours(Plan& plan, const std::array<bool, kSides>& sides);

}  // namespace iqd::fusion
