// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "hosts/nats_link.hpp"

namespace iqd::hosts {

/// Messages of a consumer, many requested at a time. One thread.
///
/// natsSubscription_Fetch() of libnats 3.4 cannot do that: once more than half of a batch waits in the subscription, it
/// writes past the end of its list.
class Pull {
 public:
  /// `stream`, `consumer`: their names at the server.
  Pull(const NatsLink& link, const std::string& stream, const std::string& consumer, int batch);
  /// Null: none came within this time.
  Held<natsMsg> next(int wait_ms);
  /// The server deletes the message, or knows that its reader has it.
  void acknowledge(natsMsg* message) const;

 private:
  void request(std::int64_t now_ns);
  bool has_subscription();

  const NatsLink& link_;
  const std::string subject_;
  const int batch_;
  int connections_ = 0;  // of the link, when the subscription was made
  Held<natsInbox> inbox_;
  Held<natsSubscription> subscription_;
  int requested_ = 0;  // messages that have not come yet
  std::int64_t requested_until_ns_ = 0;
};

}  // namespace iqd::hosts
