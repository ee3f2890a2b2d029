// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "config/fields.hpp"

namespace iqd {

/// A text that is not valid YAML, without the entries of its list `pipelines` that make it so: they have no value, and
/// the others keep their places. `problems` gets a problem for each entry left out. Nothing if the text has no such
/// list, or if leaving out entries does not help.
std::optional<std::string> without_damage(const std::string& text, const std::string& name, Problems& problems);

}  // namespace iqd
