// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "daemon/http/http_routes.hpp"
#include "daemon/http/service.hpp"

namespace iqd {

/// The answer with all parts of the running pipelines that have keys; of one pipeline, if it is named.
HttpAnswer parts_answer(const Service& service, std::string_view pipeline);
/// The answer with the keys of one part, as they are set now. The pipeline may be empty if there is only one.
HttpAnswer keys_answer(const Service& service, std::string_view pipeline, std::string_view part);

/// `publish[0]` as `publish.0`, the name of a part.
std::string canonical_part(std::string_view part);

/// `{"gain": {"value": 30, "unit": "dB", …}}`: the keys of a part.
nlohmann::json keys_json(const AskedPart& asked);

}  // namespace iqd
