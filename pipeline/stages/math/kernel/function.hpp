// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/math/kernel/kernel.hpp"

namespace iqd::kernel {

/// Finds the program's function, checks its declaration against the keys and takes the types and values of its
/// parameters. Needs the program's text, elements and halo; adds problems on a mistake.
void read_function(const Config& config, const Section& section, Program& program);

}  // namespace iqd::kernel
