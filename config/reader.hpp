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

/// Reads a map into fields. A field that is missing or has a wrong value keeps its old value; a wrong value is a
/// problem, and so is a key that is neither a field nor `reserved`, with the nearest valid key. A missing node is an
/// empty map. Problems are in the order of the file, at the place of their key or list item. The section knows every
/// key of the map, nested ones as `group.key`.
Section read_fields(const Node& node, const std::function<void(FieldVisitor&)>& fields, Problems& problems,
                    std::span<const std::string_view> reserved = {});

/// Sorts by the order of the file; problems without a line come first.
void sort_by_place(Problems& problems, std::size_t from = 0);

}  // namespace iqd
