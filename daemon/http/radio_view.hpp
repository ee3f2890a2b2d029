// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/open_radios.hpp"

namespace iqd {

/// The open radios as the status shows them: facts, locks and readings.
nlohmann::json radios_json(const std::vector<OpenRadio>& radios);
/// The same as metrics; families without metrics are left out.
std::vector<prometheus::MetricFamily> radio_metrics(const std::vector<OpenRadio>& radios);

}  // namespace iqd
