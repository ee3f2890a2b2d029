// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/error.hpp"
#include "daemon/doctor/checks.hpp"
#include "hosts/pool_report.hpp"
#include "pipeline/spec/work_order.hpp"

namespace iqd {
namespace {

Finding judge_home(const std::string& name, const hosts::PoolReport& report) {
  Finding home{name + ": home", "is not there", Verdict::warn, "# start the pipeline with this pool"};
  if (!report.home) return home;
  home.found = report.home->host;
  const bool is_other = report.home->build != build_mark();
  home.verdict = Verdict::ok;
  home.mend.clear();
  if (is_other && report.home->same)
    home.found += ", another build than this one", home.verdict = Verdict::warn,
                                                   home.mend = "# update iqd here or there";
  return home;
}

Finding judge_worker(const std::string& name, const hosts::HereMessage& worker, const hosts::PoolReport& report) {
  Finding found{
      fmt::format("{}: {}", name, worker.worker),
      fmt::format("{} lane(s) on {}, {} busy, {} blocks done", worker.lanes, worker.device, worker.busy, worker.done),
      Verdict::ok, ""};
  if (!worker.trouble.empty()) {
    found.verdict = Verdict::warn;
    found.found += ": " + worker.trouble;
    found.mend = "# the log of this worker says more";
  } else if (report.home && report.home->same && worker.build != report.home->build) {
    found.verdict = Verdict::warn;
    found.found += ", another build than its home";
    found.mend = "# update iqd on this worker";
  }
  return found;
}

}  // namespace

Findings judge_pool(const std::string& pool, const hosts::PoolReport& report) {
  const std::string name = "pool " + pool;
  std::string server = fmt::format("{}, {:.2f} ms there and back, max_payload {:.1f} MB", report.server,
                                   report.round_trip_s * 1e3, megabytes(report.most_bytes));
  if (report.reserved_bytes >= 0)
    server += fmt::format(", {:.0f} MB reserved, {} block(s) there", static_cast<double>(report.reserved_bytes) / 1e6,
                          report.waiting);
  Findings all{{name, std::move(server), Verdict::ok, ""}};
  // NATS' own limit holds no block of a useful size.
  if (report.most_bytes < 4'000'000) {
    all.back().verdict = Verdict::warn;
    all.back().mend = "# max_payload: 16MB in the server's file: blocks of 1 to 4 MB cost least";
  }
  all.push_back(judge_home(name, report));
  for (const hosts::HereMessage& worker : report.workers) all.push_back(judge_worker(name, worker, report));
  if (report.workers.empty())
    all.push_back({name + ": workers", "none is here", Verdict::warn, "# iqd run with `work:`, see docs/hosts.md"});
  return all;
}

Findings check_pool(const hosts::LinkConfig& link, const std::string& pool) {
  try {
    return judge_pool(pool, hosts::look_at_pool(link, pool));
  } catch (const SetupError& e) {
    return {{"pool " + pool, e.what(), Verdict::bad, "# is the server running, and does it know this key?"}};
  }
}

}  // namespace iqd
