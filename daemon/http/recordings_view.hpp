// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "daemon/http/http_routes.hpp"

namespace iqd {

// Requests for recordings, in the folder `monitor: recordings`.

HttpAnswer list_recordings(const HttpCall& call);
/// The body says which port, and for how long.
HttpAnswer start_recording(const HttpCall& call);
/// The answer names a file; the caller sends it.
HttpAnswer fetch_recording(const HttpCall& call);
HttpAnswer delete_recording(const HttpCall& call);

}  // namespace iqd
