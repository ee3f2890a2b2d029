// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/metric.hpp"
#include "daemon/bench/bench_row.hpp"

namespace iqd {

/// Samples to a device and back, in place or copied: latency of one block at a time, throughput of four lanes.
struct MappedTrial {
  Histogram::Snapshot latency;
  double gigabytes_per_second = 0;
  std::string backend;
  std::string device;
};
MappedTrial try_mapped(const BenchOptions& options, std::int64_t bytes, const std::string& transfer);

}  // namespace iqd
