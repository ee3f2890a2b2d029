// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/bench/bench_row.hpp"
#include "pipeline/stage_runner.hpp"

namespace iqd {

/// Fills with new normally distributed numbers or their magnitudes; integers are small and not negative.
void fill_random(StageInput& in, bool positive);
/// Whether the bench connects this input: optional ones only if the options describe them.
bool is_wanted(const InputSpec& spec, const BenchOptions& options);
/// The input that the options describe, else random items of its example shape.
StageInput input_for(const InputSpec& spec, std::int64_t length, const BenchOptions& options);
/// Throws UsageError if a `port=…` is not one of the stage's inputs.
void check_ports(const StageEntry& entry, const std::vector<std::string>& given);

}  // namespace iqd
