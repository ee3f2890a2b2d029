// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct mg_connection;

namespace iqd {

/// For a whole request to arrive, and again for the client to take the answer.
inline constexpr std::int64_t kHttpPatienceMs = 2000;

/// -1 if chunked; 0 if the request announces no body.
std::int64_t body_length(mg_connection* connection);
/// 0, or the status of the refusal.
int read_body(mg_connection* connection, std::string& body);
/// What such a status means.
std::string_view meaning_of_body(int status);

}  // namespace iqd
