// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/door.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/log.hpp"
#include "net/keys.hpp"

namespace iqd::net {
namespace {

/// Time limit of a handshake. Also how long a refused peer waits before the next attempt, and how long a silent peer
/// keeps a file descriptor.
constexpr int kHandshakeMs = 5000;

}  // namespace

Door::Door(void* context, void* socket, const Access& access, bool bound, std::string name, std::int64_t message_bytes)
    : socket_(socket), log_(std::move(name)), connections_(access.curve, message_bytes, log_) {
  set_option(socket_, ZMQ_HANDSHAKE_IVL, kHandshakeMs);
  ::zmq_setsockopt(socket_, ZMQ_MAXMSGSIZE, &message_bytes, sizeof message_bytes);
  try {
    if (access.curve) set_up_keys(context, access, bound);
    monitor_.emplace(context, socket_);
    thread_ = std::thread([this] { serve(); });
  } catch (const std::runtime_error& e) {
    throw SetupError(fmt::format("{}: {}", log_.name(), e.what()));
  }
}

Door::~Door() {
  monitor_->stop();  // the last event ends the thread
  thread_.join();
}

void Door::set_up_keys(void* context, const Access& access, bool bound) {
  give_keys(socket_, access, bound);
  if (!bound) return;
  if (access.allow == kAnybody)
    return log::info("{}: encrypted; any peer with this side's public key may connect", log_.name());
  log::info("{}: encrypted; {} key(s) in {} may connect", log_.name(), read_public_keys(access.allow).size(),
            access.allow);
  key_check_.emplace(context, socket_, access.allow);
}

void Door::serve() {
  void* const keys = key_check_ ? key_check_->handle() : nullptr;
  for (;;) {
    std::array<zmq_pollitem_t, 2> items{{{monitor_->handle(), 0, ZMQ_POLLIN, 0}, {keys, 0, ZMQ_POLLIN, 0}}};
    if (::zmq_poll(items.data(), keys ? 2 : 1, -1) < 0) {
      if (::zmq_errno() == EINTR) continue;
      return;
    }
    // Events come first: with a thousand of them queued, libzmq's own thread blocks, and the stream with it.
    if (items[0].revents != 0) {
      if (!take_event()) return;
    } else if (keys && items[1].revents != 0) {
      answer();
    }
  }
}

/// Returns false after the last event.
bool Door::take_event() {
  const SocketMonitor::Event event = monitor_->next();
  if (event.kind == ZMQ_EVENT_MONITOR_STOPPED) return false;
  connections_.take(event, steady_ns());
  return true;
}

void Door::answer() {
  if (const auto refusal = key_check_->answer()) log_.handshake_failed(refusal->peer, refusal->why);
}

void Door::read_subscriptions(const std::function<void(std::string_view topic, bool more)>& each) {
  // Messages may never end, but the stream must continue.
  constexpr std::int64_t kMostNs = 1'000'000;
  int last = -1;
  for (const std::int64_t began = steady_ns(); steady_ns() - began < kMostNs;) {
    zmq_msg_t m;
    ::zmq_msg_init(&m);
    const bool came = ::zmq_msg_recv(&m, socket_, ZMQ_DONTWAIT) >= 0;
    const std::string_view message(static_cast<const char*>(::zmq_msg_data(&m)), ::zmq_msg_size(&m));
    // Unsubscriptions that libzmq itself generates for a reader that left have no file.
    if (came) connections_.subscribes(last = ::zmq_msg_get(&m, ZMQ_SRCFD), message, steady_ns());
    if (came && !message.empty() && (message[0] == 0 || message[0] == 1)) each(message.substr(1), message[0] == 1);
    ::zmq_msg_close(&m);
    if (!came) return;
  }
  connections_.forget_if_gone(last);
}

}  // namespace iqd::net
