// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/spec/spec.hpp"

namespace iqd {

void read_apply(const Node& item, PipelineSpec& spec, Problems& problems);

/// Finds the live key that each `apply` entry names, in whichever pipeline; what is wrong goes to its section.
void find_live_keys(Spec& spec);

/// Whether the values of a port can become the key; what is wrong goes to the section.
void check_apply(const ApplySpec& apply, const PortShape& port);

}  // namespace iqd
