// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/reader.hpp"
#include "pipeline/spec/spec.hpp"

/// Entries of a file whose only key names a stage or a driver, with its keys as the value: `fir: {taps: [1, 2, 1]}`.
namespace iqd {

/// The only key of a map, and its value; none after a problem. `what` it names, for the message.
std::optional<std::pair<std::string, Node>> only_entry(const Node& node, std::string_view what, Problems& problems);

/// Reads the value `node` of a key. It may have no keys: `- conjugate:`.
Section read_keys(const Node& node, const Node& parent, std::string_view key,
                  const std::function<void(FieldVisitor&)>& fields, Problems& problems,
                  std::span<const std::string_view> reserved = {});

/// The keys of a stage or of `source`, with overrides applied.
Node overridden(Node keys, std::string_view pipeline, std::string_view stage, std::span<const Override> overrides);

}  // namespace iqd
