// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace iqd::net {

/// Tries to connect to `tcp://host:port` or `ipc://path`, for at most a second besides the look-up of the name. Returns
/// why that fails and what to look at; empty if something listens there, or for other addresses.
std::string why_unreachable(const std::string& endpoint);

}  // namespace iqd::net
