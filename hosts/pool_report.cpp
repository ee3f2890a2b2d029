// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/pool_report.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "hosts/nats_link.hpp"

namespace iqd::hosts {
namespace {

/// A worker reports each second.
constexpr int kListenMs = 1500;
constexpr int kReportMs = 500;

struct Heard {
  std::mutex mutex;
  std::map<std::string, HereMessage> workers;
};

void look_at_streams(const NatsLink& link, const PoolNames& names, PoolReport& report) {
  jsOptions options;
  jsOptions_Init(&options);
  options.Wait = kReportMs;
  for (const std::string& stream : {names.todo_stream, names.done_stream}) {
    jsStreamInfo* found = nullptr;
    if (js_GetStreamInfo(&found, link.stream(), stream.c_str(), &options, nullptr) != NATS_OK) return;
    const Held<jsStreamInfo> info(found);
    report.reserved_bytes = std::max<std::int64_t>(report.reserved_bytes, 0) + info->Config->MaxBytes;
    if (stream == names.todo_stream) report.waiting = static_cast<std::int64_t>(info->State.Msgs);
  }
}

}  // namespace

PoolReport look_at_pool(const LinkConfig& config, const std::string& pool) {
  const PoolNames names(pool);
  const NatsLink link(config, "pool " + pool);
  const auto heard = std::make_shared<Heard>();
  const Held<natsSubscription> reports = link.listen(names.here, [heard](natsConnection*, Held<natsMsg> message) {
    const auto here = read_here(data_of(message.get()));
    if (!here) return;
    const std::lock_guard lock(heard->mutex);
    heard->workers[here->worker] = *here;
  });
  PoolReport report;
  report.server = link.server();
  report.round_trip_s = link.round_trip_s();
  report.most_bytes = link.most_bytes();
  report.home = ask_home(link, names, kReportMs);
  look_at_streams(link, names, report);
  nats_Sleep(kListenMs);
  const std::lock_guard lock(heard->mutex);
  for (const auto& [name, worker] : heard->workers) report.workers.push_back(worker);
  return report;
}

}  // namespace iqd::hosts
