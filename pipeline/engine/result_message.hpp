// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/driver.hpp"
#include "pipeline/engine/block_work.hpp"

namespace iqd {

/// The extent of a result's varying dimension; 1 if there is none, but 0 if the block has no result.
std::int64_t extent_of(const PlanOutput& output, const BlockWork::Output& result) noexcept;

/// A finished block's result as a message: what it is, where it lies, its times and frequencies. What depends on the
/// reader (seq, gap, dropped, tuned, facts) is not set. `plan` is the engine's, whose formats messages refer to; the
/// block may have been computed by another one with other frequencies.
Message result_message(const Plan& plan, OutputIndex index, const BlockWork& work) noexcept;

/// The column of a fact of this block.
FactColumn fact_column(const Plan& plan, const PlanOutput::Fact& fact, const BlockWork& work) noexcept;

/// The new samples of the source, in the ring, as a message of this format. Rows are apart: the payload reaches from the
/// first element to the last. To be used before the block's space in the ring is released.
Message source_message(const Plan& plan, const PortFormat& format, const BlockWork& work) noexcept;

}  // namespace iqd
