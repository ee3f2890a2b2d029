// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace iqd {

/// The status of a running iqd for people. `now` and `before` are what /api/status gave, at least some tenths of a
/// second apart: rates are those in between. `pipeline`: only this one; empty: all.
std::string status_table(const nlohmann::json& now, const nlohmann::json& before, const std::string& pipeline);

/// How long it has been running: `3 s`, `2 min 5 s`, `1 h 4 min`, `3 d 2 h`.
std::string uptime_text(double seconds);

}  // namespace iqd
