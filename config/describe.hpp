// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/fields.hpp"

namespace iqd {

/// What lists the fields of a freshly made struct; their values are the defaults.
using FieldList = std::function<void(FieldVisitor&)>;

/// A JSON schema (draft 7) of the map that read_fields would accept.
nlohmann::json schema_of(const FieldList& fields);

/// `| key | default | range | meaning |` with one row a field; the keys of a group as `group.key`. Empty without
/// fields.
std::string markdown_table(const FieldList& fields);

/// The same in columns, for a terminal.
std::string text_table(const FieldList& fields);

}  // namespace iqd
