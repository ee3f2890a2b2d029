// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace iqd::net {

/// `tcp://host:port` with a port of 1 to 65535, or * for any; `ipc://path`.
bool is_endpoint(std::string_view text) noexcept;

}  // namespace iqd::net
