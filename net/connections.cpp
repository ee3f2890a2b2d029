// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/connections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "net/key_check.hpp"

namespace iqd::net {
namespace {

/// A connection older than this has completed its handshake, which is limited to 5 s.
constexpr std::int64_t kSettledNs = 6'000'000'000;

std::string reason_of(const SocketMonitor::Event& event, bool curve) {
  if (event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) return "it refused this side's key";
  if (event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && event.value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)
    return "it has a wrong public key for this side";
  if (event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
    return curve ? "it uses no keys, but this side requires them" : "it uses keys, but this side has none";
  return "it hung up, or does not speak ZeroMQ's protocol";
}

HandshakeFault fault_of(const SocketMonitor::Event& event) {
  if (event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) return HandshakeFault::key_refused;
  if (event.kind != ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) return HandshakeFault::hung_up;
  switch (event.value) {
    case ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC: return HandshakeFault::wrong_key;
    case ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH: return HandshakeFault::mechanism;
    case ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_METADATA: return HandshakeFault::socket_kind;
    default: return HandshakeFault::hung_up;
  }
}

}  // namespace

void Connections::take(const SocketMonitor::Event& event, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  switch (event.kind) {
    case 0: break;
    case ZMQ_EVENT_ACCEPTED:
    case ZMQ_EVENT_CONNECTED: begin(static_cast<int>(event.value), now_ns); break;
    case ZMQ_EVENT_DISCONNECTED: end(static_cast<int>(event.value), now_ns); break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: ++succeeded_, ++connected_; break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      if (event.value == KeyCheck::kTryAgain) {
        ++failed_, ++refused_;
        break;
      }
      [[fallthrough]];
    default:
      failing_ = reason_of(event, curve_);
      // A peer that finds the fault first may hang up before this side can see it.
      if (const HandshakeFault fault = fault_of(event);
          fault != HandshakeFault::hung_up || fault_ == HandshakeFault::none)
        fault_ = fault;
  }
}

void Connections::begin(int file, std::int64_t now_ns) {
  reached_ = true;
  Connection& c = open_[file] = {Peer(file), now_ns, succeeded_};
  // Before it costs a handshake, and the time to release its subscriptions.
  c.is_cut_off = unwelcome_.contains(c.peer.host(), now_ns);
  if (c.is_cut_off) c.peer.cut_off();
}

/// libzmq reports success or failure without the connection. After a failure, the next event is the end of that
/// connection. Other ends are those of accepted peers, of peers that the list refused, and of peers with an old
/// protocol, for which there is no event.
void Connections::end(int file, std::int64_t now_ns) {
  auto node = open_.extract(file);
  Connection c;
  if (node) c = std::move(node.mapped());
  const bool never_in = c.succeeded_before == succeeded_;
  if (never_in && c.is_cut_off) {
    // It got no handshake that could have failed.
  } else if (!failing_.empty()) {
    handshake_failed(c.peer.name(), failing_);
  } else if (never_in && refused_ > 0) {
    --refused_;
  } else if (never_in && curve_) {
    handshake_failed(c.peer.name(), "it does not use ZeroMQ, or uses an old protocol without keys");
  } else {
    ++departures_;
    if (!never_in) --connected_;
    // libzmq does not report its reason, but it shows which side closed.
    if (!c.is_cut_off && !c.peer.hung_up())
      cut_off(c, fmt::format("a message of more than {} bytes, or invalid data", message_bytes_), now_ns);
  }
  failing_.clear();
  if (open_.empty()) connected_ = refused_ = 0;
}

void Connections::handshake_failed(const std::string& peer, std::string_view why) {
  ++failed_;
  log_.handshake_failed(peer, why);
}

void Connections::subscribes(int file, std::string_view message, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(file);
  if (found == open_.end() || found->second.is_cut_off) return;
  if (const std::string_view why = found->second.asked.take(message, now_ns); !why.empty())
    return cut_off(found->second, why, now_ns);
  std::size_t of_all = 0;
  for (const auto& [other, connection] : open_) of_all += connection.is_cut_off ? 0 : connection.asked.bytes();
  if (of_all > Subscriptions::kMostBytesOfAll) cut_off(largest(), "most of 128 KiB of subscriptions", now_ns);
}

/// Of the connections not yet cut off; there must be one.
Connections::Connection& Connections::largest() {
  const auto bytes = [](const auto& c) { return c.second.is_cut_off ? 0 : c.second.asked.bytes(); };
  return std::ranges::max_element(open_, {}, bytes)->second;
}

void Connections::cut_off(Connection& connection, std::string_view why, std::int64_t now_ns) {
  connection.is_cut_off = true;
  connection.peer.cut_off();
  unwelcome_.add(connection.peer.host(), now_ns);
  ++cut_off_;
  log_.disconnected(connection.peer.name(), why);
}

void Connections::forget_if_gone(int file) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(file);
  if (found != open_.end() && !found->second.is_cut_off && found->second.peer.hung_up()) found->second.peer.cut_off();
}

std::int64_t Connections::connected(std::int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  const auto sure =
      std::count_if(open_.begin(), open_.end(), [&](const auto& c) { return c.second.since_ns < now_ns - kSettledNs; });
  return std::clamp<std::int64_t>(connected_, sure, std::ssize(open_));
}

std::uint64_t Connections::handshake_failures() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

std::uint64_t Connections::cut_off() const {
  const std::lock_guard lock(mutex_);
  return cut_off_;
}

std::uint64_t Connections::departures() const {
  const std::lock_guard lock(mutex_);
  return departures_;
}

PeerFacts Connections::facts() const {
  const std::lock_guard lock(mutex_);
  return {reached_, succeeded_, departures_, fault_};
}

bool Connections::reached() const {
  const std::lock_guard lock(mutex_);
  return reached_;
}

}  // namespace iqd::net
