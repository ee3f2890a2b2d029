// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace iqd::conformance {

/// Whether this build can count: not under a sanitizer, which brings an allocator of its own.
bool can_count_allocations() noexcept;
/// Calls of malloc and its kin by this thread since it began.
std::uint64_t allocations() noexcept;

}  // namespace iqd::conformance
