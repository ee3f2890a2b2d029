// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/sub/subscriber_hints.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/printable.hpp"
#include "net/reach.hpp"

namespace iqd {

std::string why_no_handshake(const net::PeerFacts& peer, bool has_keys, bool push) {
  using net::HandshakeFault;
  // libzmq reports no fault if sockets do not match: it just hangs up.
  const bool other_kind = peer.fault == HandshakeFault::none && peer.departures > 0;
  switch (other_kind ? HandshakeFault::socket_kind : peer.fault) {
    case HandshakeFault::socket_kind:
      return push ? "the socket there is not `kind: push`: leave out --push"
                  : "the socket there is not `kind: pub`: for `kind: push`, give --push";
    case HandshakeFault::mechanism:
      return has_keys ? "the handshake fails: the publisher has no `curve:`: leave out --key and --server"
                      : "the handshake fails: the publisher has `curve:`: give --server and --key";
    case HandshakeFault::key_refused:
      return "the handshake fails: the publisher refused the key: the public key of --key must be on its list";
    case HandshakeFault::none:
    case HandshakeFault::wrong_key:
    case HandshakeFault::hung_up: break;
  }
  if (has_keys)
    return "the handshake fails: --server must be the publisher's public key, and the public key of --key must be on "
           "its list";
  return "something listens there, but it does not answer with ZeroMQ's protocol: is this the port of a `publish` "
         "entry?";
}

SubscriberHints::SubscriberHints(MessageReader& reader, const MessageOrigin& origin, std::int64_t patience_ns,
                                 std::int64_t now_ns)
    : reader_(reader), origin_(origin), patience_ns_(patience_ns), began_ns_(now_ns) {}

bool SubscriberHints::wants(std::string_view topic, std::size_t bytes, const MessageView* message) {
  if (!origin_.topic.empty() && topic != origin_.topic) {
    if (!heard_) census_.take(topic, bytes, message);
    return false;
  }
  heard_ = true;
  if (listening_ns_ > 0) reader_.hear_all(false);
  listening_ns_ = 0;
  return true;
}

/// Repeats nothing.
void SubscriberHints::say(std::vector<std::string>& lines, std::string text) {
  if (text == said_) return;
  said_ = text;
  lines.push_back(fmt::format("{}: {}", origin_.endpoint, text));
}

std::vector<std::string> SubscriberHints::look(std::int64_t now_ns, bool idle) {
  std::vector<std::string> lines;
  if (reader_.door() == nullptr || origin_.bind) return lines;
  if (idle) look_at_connection(lines, now_ns);
  const bool is_due = !heard_ && !has_listed_ && !is_gone_ && now_ns - began_ns_ >= patience_ns_;
  if (!is_due || reader_.door()->connected() == 0) return lines;
  if (listening_ns_ == 0) {
    listening_ns_ = now_ns;
    if (!origin_.topic.empty() && !origin_.push) reader_.hear_all(true);
  } else if (now_ns - listening_ns_ >= kListenNs) {
    if (census_.empty())
      say(lines, "connected, but nothing has been published yet");
    else
      list_topics(lines, now_ns);
  }
  return lines;
}

void SubscriberHints::look_at_connection(std::vector<std::string>& lines, std::int64_t now_ns) {
  const net::PeerFacts peer = reader_.door()->facts();
  const bool is_connected = reader_.door()->connected() > 0;
  if (is_connected) {
    if (is_gone_) say(lines, "connected again");
    is_gone_ = false;
  } else if (peer.handshakes > 0 && peer.departures > departures_) {
    is_gone_ = true;
    say(lines, fmt::format("the publisher has closed the connection{}: its stream has ended, or it was stopped; "
                           "waiting for it to come back",
                           heard_ ? "" : " before a message came"));
  } else if (!is_gone_ && !heard_ && now_ns - began_ns_ >= patience_ns_) {
    look_at_handshake(lines, peer, now_ns);
  }
  departures_ = peer.departures;
}

void SubscriberHints::look_at_handshake(std::vector<std::string>& lines, const net::PeerFacts& peer,
                                        std::int64_t now_ns) {
  if (peer.reached) return say(lines, why_no_handshake(peer, origin_.access.curve, origin_.push));
  if (now_ns < next_probe_ns_) return;
  next_probe_ns_ = now_ns + kProbeNs;
  if (std::string why = net::why_unreachable(origin_.endpoint); !why.empty()) say(lines, std::move(why));
}

void SubscriberHints::list_topics(std::vector<std::string>& lines, std::int64_t now_ns) {
  has_listed_ = true;
  reader_.hear_all(false);
  say(lines, fmt::format("no message of topic '{}' in {:.0f} s{}; topics that came:", printable(origin_.topic),
                         std::ceil(static_cast<double>(now_ns - began_ns_) / 1e9), census_.nearest(origin_.topic)));
  const std::int64_t since = listening_ns_ > 0 ? listening_ns_ : began_ns_;
  for (std::string& line : census_.lines(static_cast<double>(now_ns - since) / 1e9)) lines.push_back(std::move(line));
}

std::vector<std::string> SubscriberHints::end(std::int64_t now_ns) {
  std::vector<std::string> lines;
  if (!heard_ && !has_listed_ && !census_.empty()) list_topics(lines, now_ns);
  return lines;
}

}  // namespace iqd
