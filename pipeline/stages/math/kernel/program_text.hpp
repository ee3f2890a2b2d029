// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/math/kernel/kernel.hpp"

namespace iqd::kernel {

/// Takes the program's text from `file` or `code`, and what it includes. On a mistake it adds a problem and returns
/// false.
bool load_text(const Config& config, const Section& section, Program& program);

}  // namespace iqd::kernel
