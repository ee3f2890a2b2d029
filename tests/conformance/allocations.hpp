// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace iqd::conformance {

/// Whether this build can count allocations: not with a sanitizer, which has its own allocator.
bool can_count_allocations() noexcept;
/// How often this thread has called malloc or a related function since it started.
std::uint64_t allocations() noexcept;

}  // namespace iqd::conformance
