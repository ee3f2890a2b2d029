// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Reads `monitor`, and gives each pipeline the ports that the live page watches there. After the pipelines are read.
void read_monitor(const Node& node, Spec& spec, Problems& problems);

}  // namespace iqd
