// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/spec/spec.hpp"

namespace iqd {

void read_apply(const Node& item, PipelineSpec& spec, Problems& problems);

/// Finds the live key that each `apply` entry names, in any pipeline; problems go to the entry's section.
void find_live_keys(Spec& spec);

/// Checks whether the values of a port can become the key; problems go to the entry's section.
void check_apply(const ApplySpec& apply, const PortShape& port);

}  // namespace iqd
