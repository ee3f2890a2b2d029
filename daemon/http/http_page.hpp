// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "daemon/http/http_routes.hpp"

namespace iqd {

/// A file of the live page: 304 if the caller has it, 404 if there is none of that name.
HttpAnswer page_answer(std::string_view name, const HttpHeaders& headers);
/// Whether the caller wants a page for people, and there is one.
bool wants_page(const HttpHeaders& headers);

/// What the page may load: only files of this iqd.
inline constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

}  // namespace iqd
