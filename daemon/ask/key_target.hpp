// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace iqd {

/// A stage, or one of its keys, as the command line names it.
struct KeyTarget {
  std::string pipeline;
  std::string stage;  // `source`, `fir`, `publish.0`
  std::string key;    // a key of a group as `group.key`; empty: all keys
};
/// Reads `[PIPELINE/]STAGE[.KEY]`; `publish.0` and `publish[0]` are stages, too. Throws UsageError.
KeyTarget parse_key_target(std::string_view text, const std::string& default_pipeline);

/// The value of a key, written as in a pipeline file, as JSON. What is no YAML is a text.
nlohmann::json parse_key_value(const std::string& text);

/// Throws SetupError with the keys that exist, unless `key` is one of them, a group of them, or an entry of a map.
void require_key(const nlohmann::json& keys, const std::string& stage, const std::string& key);

}  // namespace iqd
