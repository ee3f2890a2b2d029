// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "signal/codes/ldpc_code.hpp"

/// The codes of telemetry, IRIG 106, appendix 2-D, which are those of CCSDS 131.0-B: k of 1024 and 4096, rates 1/2, 2/3
/// and 4/5.
namespace iqd {

/// Named irig_1024_1_2 … irig_4096_4_5.
std::span<const LdpcCode> irig_codes();

}  // namespace iqd
