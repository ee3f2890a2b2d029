// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/open_radios.hpp"

namespace iqd {

/// The radios that are open, as the status shows them: what each is, its locks and what else it measures.
nlohmann::json radios_json(const std::vector<OpenRadio>& radios);
/// The same as metrics; a family without a radio that has it is left out.
std::vector<prometheus::MetricFamily> radio_metrics(const std::vector<OpenRadio>& radios);

}  // namespace iqd
