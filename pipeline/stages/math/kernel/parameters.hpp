// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pipeline/stages/math/kernel/kernel.hpp"

/// Values of `params`, and what they go into.
namespace iqd::kernel {

/// Whether the user's function may have a parameter of this type of C++.
bool is_parameter_type(std::string_view type) noexcept;
/// What `2.0`, `0.3-0.1j`, `[0.3, -0.1]` or `true` is for such a parameter. None, and `why`, where it does not fit.
std::optional<Parameter> read_parameter(std::string_view type, std::string_view text, std::string& why);
/// The type that a parameter should have that is written so.
std::string_view type_for(std::string_view text);

}  // namespace iqd::kernel
