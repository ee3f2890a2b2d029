// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/bench/bench_row.hpp"
#include "pipeline/stage_runner.hpp"

namespace iqd {

/// Fills with normal numbers, new ones each time, or with their magnitudes; whole numbers are small and not negative.
void fill_random(StageInput& in, bool positive);
/// What the options say of this input, else random items of its example's shape.
StageInput input_for(const InputSpec& spec, std::int64_t length, const BenchOptions& options);
/// Throws UsageError where a `port=…` is none of the stage's inputs.
void check_ports(const StageEntry& entry, const std::vector<std::string>& given);

}  // namespace iqd
