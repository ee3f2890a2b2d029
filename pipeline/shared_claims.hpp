// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "pipeline/plan/plan.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Reports what two entries of a file claim but only one can have: a radio's channel, an address, a file, a topic. Also
/// sources that wait for a publisher of the same file, which starts with them. `plans`: one for each pipeline.
void refuse_shared_claims(const Spec& spec, const std::vector<Plan>& plans);

}  // namespace iqd
