// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config/describe.hpp"

namespace iqd {

/// A key whose value differs between two structs; keys of a group as `group.key`.
struct Difference {
  std::string key;
  bool live = false;  // may change while samples flow
};

/// Compares two structs of the same type, in the order of their fields.
std::vector<Difference> differences(const FieldList& one, const FieldList& other);

bool all_live(const std::vector<Difference>& found) noexcept;

}  // namespace iqd
