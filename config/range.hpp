// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "config/fields.hpp"

namespace iqd {

/// What a value outside of a field's range must be.
std::string range_fault(double value, const FieldInfo& info);

/// Why a number, as written without a unit, is probably meant in another one; empty if it is not.
std::string unit_doubt(std::string_view text, double value, const FieldInfo& info);

}  // namespace iqd
