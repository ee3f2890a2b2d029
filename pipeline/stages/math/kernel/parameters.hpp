// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pipeline/stages/math/kernel/kernel.hpp"

/// Values of `params`, and the types that they convert to.
namespace iqd::kernel {

/// Whether the user's function may have a parameter of this C++ type.
bool is_parameter_type(std::string_view type) noexcept;
/// `2.0`, `0.3-0.1j`, `[0.3, -0.1]` or `true` as a parameter of this type. None, and sets `why`, if it does not fit.
std::optional<Parameter> read_parameter(std::string_view type, std::string_view text, std::string& why);
/// The type that a parameter with this value should have.
std::string_view type_for(std::string_view text);

}  // namespace iqd::kernel
