// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/fields.hpp"

namespace iqd {

/// Lists the fields of a newly created struct; their values are the defaults.
using FieldList = std::function<void(FieldVisitor&)>;

/// A JSON schema of the maps that read_fields accepts.
nlohmann::json schema_of(const FieldList& fields);

/// `| key | default | range | meaning |` with one row for each field; keys of a group as `group.key`. Empty without
/// fields.
std::string markdown_table(const FieldList& fields);

/// The same in columns, for a terminal.
std::string text_table(const FieldList& fields);

}  // namespace iqd
