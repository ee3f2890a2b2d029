// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "daemon/http/service.hpp"
#include "daemon/live/live_hub.hpp"

namespace iqd {

/// All current metrics. Nothing is counted here: each call collects the pipelines' own counts. Families without metrics
/// are left out. `viewers`: of the live page, if there is one.
std::vector<prometheus::MetricFamily> collect_metrics(const Service& service, const live::LiveHub* viewers = nullptr);

/// The same in Prometheus' text format.
std::string metrics_text(const Service& service, const live::LiveHub* viewers = nullptr);

/// A histogram with buckets up to 2^11 - 1 ns, 2^12 - 1 ns … 2^29 - 1 ns (2 us … 0.54 s). Histogram has edges there, so
/// the counts are exact.
prometheus::ClientMetric::Histogram buckets_of(const Histogram::Snapshot& histogram);

}  // namespace iqd
