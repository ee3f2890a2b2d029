// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "config/document.hpp"
#include "config/fields.hpp"
#include "config/quantity.hpp"

namespace iqd {

/// Reads a map into fields. What is not in the file keeps its value; a wrong value becomes a problem and leaves the
/// field as it was; a key that neither a field nor `reserved` names is a problem with the nearest right key. A missing
/// node is an empty map. The problems found here are in the order of the file: each stands at its key, and what is
/// wrong inside of a list at its item. The section knows every key that is there, nested ones as `group.key`.
Section read_fields(const Node& node, const std::function<void(FieldVisitor&)>& fields, Problems& problems,
                    std::span<const std::string_view> reserved = {});

/// Into the order of the file; those without a line come first.
void sort_by_place(Problems& problems, std::size_t from = 0);

}  // namespace iqd
