// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iqd {

/// Vector instruction sets that loops are compiled for and this CPU has, the best first: AVX3, AVX2, SSE4 … NEON.
std::vector<std::string> vector_instructions();

/// Limits loops to these instructions from now on, for comparisons. Returns false if the CPU does not have them. Not
/// while other threads run loops.
bool limit_instructions(std::string_view name);

}  // namespace iqd
