// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace iqd {

/// A value of a key's JSON as an operator would write it.
std::string value_text(const nlohmann::json& value, const std::string& unit);

/// One line for each key of a stage that is `only` or in this group; all if it is empty.
std::string key_table(const nlohmann::json& keys, const std::string& only = {});

/// `30 dB (asked for 30.5 dB)`
std::string set_text(const nlohmann::json& key);

}  // namespace iqd
