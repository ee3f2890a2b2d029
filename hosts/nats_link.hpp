// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nats/nats.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "hosts/link_config.hpp"

namespace iqd::hosts {

struct Destroy {
  void operator()(natsOptions* o) const noexcept { natsOptions_Destroy(o); }
  void operator()(natsConnection* c) const noexcept { natsConnection_Destroy(c); }
  void operator()(natsSubscription* s) const noexcept { natsSubscription_Destroy(s); }
  void operator()(natsMsg* m) const noexcept { natsMsg_Destroy(m); }
  void operator()(natsInbox* i) const noexcept { natsInbox_Destroy(i); }
  void operator()(jsCtx* c) const noexcept { jsCtx_Destroy(c); }
  void operator()(jsStreamInfo* i) const noexcept { jsStreamInfo_Destroy(i); }
  void operator()(jsConsumerInfo* i) const noexcept { jsConsumerInfo_Destroy(i); }
  void operator()(jsAccountInfo* i) const noexcept { jsAccountInfo_Destroy(i); }
};
template <class T> using Held = std::unique_ptr<T, Destroy>;

/// No server answers at present.
class Unreachable : public SetupError {
 public:
  using SetupError::SetupError;
};

/// The text of a status, with the reason that libnats adds.
std::string text_of(natsStatus status, jsErrCode code = jsErrCode(0));
/// Throws SetupError with `what` unless the status is good.
void must(natsStatus status, const std::string& what, jsErrCode code = jsErrCode(0));

inline std::string_view data_of(natsMsg* message) noexcept {
  return {natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message))};
}

/// A connection to one of several servers. It reconnects without end; its state is for any thread.
class NatsLink {
 public:
  /// Throws SetupError if no server can be reached, or refuses. `name` is shown by the server, and stands before lines of
  /// the log. `reconnected` is called by a thread of libnats.
  NatsLink(const LinkConfig& config, std::string name, std::function<void()> reconnected = {});
  ~NatsLink();
  NatsLink(const NatsLink&) = delete;
  NatsLink& operator=(const NatsLink&) = delete;

  natsConnection* get() const noexcept { return connection_.get(); }
  jsCtx* stream() const noexcept { return stream_.get(); }
  bool is_connected() const noexcept { return state_->connected.load(std::memory_order_acquire); }
  /// How often it has connected: what was fetched before may be unknown to the server now.
  int connections() const noexcept { return state_->connections.load(std::memory_order_acquire); }
  /// The address of the server; empty while there is no connection.
  std::string server() const;
  /// Why there is no connection, or what the server has refused lately; empty while all is well.
  std::string trouble() const;
  /// Why it will not connect again: a server has refused the key. Empty: it may.
  std::string failure() const;
  std::size_t most_bytes() const;
  double round_trip_s() const;
  /// Takes a message, and the connection to answer on.
  using Each = std::function<void(natsConnection*, Held<natsMsg>)>;
  /// Ends with the returned object, but a thread of libnats may call `each` a last time after that.
  Held<natsSubscription> listen(const std::string& subject, Each each) const;

 private:
  /// What libnats' threads change; they may outlive the connection.
  struct State {
    std::string name;
    std::function<void()> reconnected;
    mutable std::mutex mutex;  // of the following, and of calls of `reconnected`
    std::string outage;        // empty: connected
    std::string refusal;       // the last, of something on a connection
    std::int64_t refused_ns = 0;
    std::string failure;
    std::atomic<bool> connected{false};
    std::atomic<int> connections{1};
    std::atomic<bool> ends{false};

    void note_outage(const std::string& what);
    void note_refusal(const std::string& what);
    std::string late_refusal() const;
  };
  static std::shared_ptr<State>* hold(std::shared_ptr<State> state);
  static Held<natsOptions> options_of(const LinkConfig& config, State& state);

  std::shared_ptr<State> state_;
  Held<natsConnection> connection_;
  Held<jsCtx> stream_;
};

}  // namespace iqd::hosts
