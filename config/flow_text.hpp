// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/document.hpp"

namespace iqd {

/// A list as YAML on one line, `[1, [2, x], "a, b"]`: texts that could be mistaken are in quotes, as in JSON. Of anything
/// else, its text.
std::string flow_text(const Node& node);

/// A node as JSON on one line, in which numbers are texts. As YAML, it is read as the node was.
std::string json_text(const Node& node);

}  // namespace iqd
