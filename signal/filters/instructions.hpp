// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iqd {

/// Vector instructions that loops are compiled for and this processor has, the best first: AVX3, AVX2, SSE4 … NEON.
std::vector<std::string> vector_instructions();

/// From now on loops use these at best, to compare them. Gives false where the processor does not have them. Not while
/// other threads are at work.
bool limit_instructions(std::string_view name);

}  // namespace iqd
