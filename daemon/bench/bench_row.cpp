// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/bench_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace iqd {

void set_percentiles(BenchRow& row, std::vector<double> us) {
  if (us.empty()) return;
  std::sort(us.begin(), us.end());
  const auto at = [&](double q) {
    return us[std::min(us.size() - 1, static_cast<std::size_t>(q * static_cast<double>(us.size())))];
  };
  row.p50_us = at(0.5);
  row.p99_us = at(0.99);
  row.p999_us = at(0.999);
  row.max_us = us.back();
}

void set_percentiles(BenchRow& row, const Histogram::Snapshot& latency) {
  row.p50_us = latency.quantile_ns(0.5) / 1e3;
  row.p99_us = latency.quantile_ns(0.99) / 1e3;
  row.p999_us = latency.quantile_ns(0.999) / 1e3;
  row.max_us = static_cast<double>(latency.worst_ns) / 1e3;
}

std::string row_json(const BenchRow& r) {
  nlohmann::json row({{"name", r.name},
                      {"variant", r.variant},
                      {"backend", r.backend},
                      {"device", r.device},
                      {"shape", r.shape},
                      {"p50_us", r.p50_us},
                      {"p99_us", r.p99_us},
                      {"p999_us", r.p999_us},
                      {"max_us", r.max_us},
                      {"throughput", r.throughput},
                      {"unit", r.unit},
                      {"bound", r.bound},
                      {"bound_by", r.bound_by},
                      {"fraction", r.fraction()}});
  if (!r.keys.empty()) row["keys"] = r.keys;
  for (const auto& [name, value] : r.further) row[name] = value;
  return row.dump();
}

std::string header_text() {
  return fmt::format("{:<24} {:<22} {:<10} {:>10} {:>10} {:>10} {:>10} {:>12} {:<10} {:>9} {}", "name", "variant",
                     "shape", "p50 us", "p99 us", "p99.9 us", "max us", "throughput", "unit", "of bound", "bound by");
}

std::string row_text(const BenchRow& r) {
  std::string text = fmt::format(
      "{:<24} {:<22} {:<10} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f} {:>12.5g} {:<10} {:>8.1f}% {}", r.name, r.variant,
      r.shape, r.p50_us, r.p99_us, r.p999_us, r.max_us, r.throughput, r.unit, 100 * r.fraction(), r.bound_by);
  for (const auto& [name, value] : r.further) text += fmt::format("; {} {:.4g}", name, value);
  return text;
}

}  // namespace iqd
