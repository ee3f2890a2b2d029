// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "hosts/pool_options.hpp"
#include "hosts/pool_report.hpp"
#include "hosts/stored_messages.hpp"
#include "hosts/work_link.hpp"

namespace iqd::hosts {
namespace {

constexpr const char* kWhy = "this build has no libnats: install libnats-dev and build again";

}  // namespace

std::shared_ptr<Pool> open_pool(const PoolConfig&, const PoolNeeds&) {
  throw SetupError(std::string("pool: ") + kWhy);
}

PoolReport look_at_pool(const LinkConfig&, const std::string&) {
  throw SetupError(kWhy);
}

std::unique_ptr<WorkLink> open_work_link(const LinkConfig&, const std::string&) {
  throw SetupError(std::string("work: ") + kWhy);
}

std::unique_ptr<MessageStore> open_store(const LinkConfig&, const StreamConfig&) {
  throw SetupError(std::string("nats sink: ") + kWhy);
}

std::unique_ptr<MessageFeed> open_feed(const LinkConfig&, const std::string&, const std::string&, ReadFrom) {
  throw SetupError(std::string("nats source: ") + kWhy);
}

}  // namespace iqd::hosts
