// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/http_routes.hpp"

struct mg_connection;

namespace iqd {

/// Sends an answer. `with_body`: false for HEAD. `closes`: no request follows. A client that takes nothing for two
/// seconds gets no further answer.
void send_answer(mg_connection* connection, HttpAnswer answer, bool with_body, bool closes);

}  // namespace iqd
