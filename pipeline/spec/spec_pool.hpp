// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Reads a pipeline's key `pool`, and takes `pool` from its backends.
void read_pool(const Node& pipeline, PipelineSpec& spec, const Catalogue& catalogue, Problems& problems);

}  // namespace iqd
