// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/pull.hpp"

#include <fmt/format.h>

#include "base/clock.hpp"

namespace iqd::hosts {
namespace {

constexpr std::int64_t kExpiresNs = 1'000'000'000;
/// The server says when a request has expired; one that does not has forgotten it.
constexpr std::int64_t kLateNs = 200'000'000;
constexpr int kRefusedMs = 20;

/// Of a message that is none: the server's answer to a request that has ended. Empty: a message.
std::string_view status_of(natsMsg* message) {
  const char* value = nullptr;
  return natsMsgHeader_Get(message, "Status", &value) == NATS_OK && value ? value : "";
}

}  // namespace

Pull::Pull(const NatsLink& link, const std::string& stream, const std::string& consumer, int batch)
    : link_(link), subject_("$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer), batch_(batch) {}

/// Makes one for each connection: an earlier one may hold messages that this server does not know.
bool Pull::has_subscription() {
  const int connections = link_.connections();
  if (subscription_ && connections == connections_) return true;
  subscription_.reset();
  requested_ = 0;
  natsInbox* inbox = nullptr;
  if (natsInbox_Create(&inbox) != NATS_OK) return false;
  inbox_.reset(inbox);
  natsSubscription* made = nullptr;
  if (natsConnection_SubscribeSync(&made, link_.get(), inbox) != NATS_OK) return false;
  subscription_.reset(made);
  natsSubscription_SetPendingLimits(made, -1, -1);
  connections_ = connections;
  return true;
}

void Pull::request(std::int64_t now_ns) {
  const std::string text = fmt::format(R"({{"batch":{},"expires":{}}})", batch_ - requested_, kExpiresNs);
  if (natsConnection_PublishRequestString(link_.get(), subject_.c_str(), inbox_.get(), text.c_str()) != NATS_OK) return;
  requested_ = batch_;
  requested_until_ns_ = now_ns + kExpiresNs + kLateNs;
}

Held<natsMsg> Pull::next(int wait_ms) {
  const std::int64_t ends_ns = steady_ns() + std::int64_t{wait_ms} * 1'000'000;
  while (has_subscription()) {
    const std::int64_t now = steady_ns();
    if (now > requested_until_ns_) requested_ = 0;
    // Before the last has come, so the server need not wait for a request.
    if (requested_ <= batch_ / 2) request(now);
    if (now >= ends_ns) return nullptr;
    natsMsg* came = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&came, subscription_.get(), (ends_ns - now) / 1'000'000 + 1);
    Held<natsMsg> message(came);
    if (status == NATS_TIMEOUT) return nullptr;
    if (status != NATS_OK) break;
    const std::string_view ended = status_of(message.get());
    if (ended.empty()) {
      --requested_;
      return message;
    }
    requested_ = 0;
    // 408: expired. Others are refusals.
    if (ended != "408") nats_Sleep(kRefusedMs);
  }
  subscription_.reset();
  nats_Sleep(kRefusedMs);
  return nullptr;
}

void Pull::acknowledge(natsMsg* message) const {
  if (const char* to = natsMsg_GetReply(message)) natsConnection_PublishString(link_.get(), to, "+ACK");
}

}  // namespace iqd::hosts
