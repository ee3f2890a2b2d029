// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/element.hpp"

namespace iqd::kernel {

/// The C++ type of an element in the user's text; empty if it has none.
std::string_view type_name(Element element) noexcept;
/// Whether the user's text may call an element so: also `int32_t` for `int`.
bool is_type_of(Element element, std::string_view type) noexcept;

}  // namespace iqd::kernel
