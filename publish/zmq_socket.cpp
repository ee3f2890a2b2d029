// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "publish/zmq_socket.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace iqd::publish {
namespace {

constexpr int kSendPollMs = 50;
/// How long to wait at the end for readers of a PUB socket that take nothing.
constexpr std::int64_t kPatienceNs = 3'000'000'000;
/// For data in libzmq's own buffers after the last payload was taken.
constexpr int kLingerMs = 1000;
/// High-water marks count messages; the configuration has bytes.
int high_water_mark(std::int64_t budget, std::int64_t message_bytes) {
  return static_cast<int>(std::clamp<std::int64_t>(budget / std::max<std::int64_t>(message_bytes, 1), 2, 100'000));
}

/// Sockets in use, by pipeline and endpoint.
struct Registry {
  struct Entry {
    std::weak_ptr<ZmqSocket> socket;
    Config config;
    bool lossless = false;
  };
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, Entry> sockets;
};
Registry& registry() {
  static Registry instance;
  return instance;
}

[[noreturn]] void refuse(const Config& config) {
  const int why = zmq_errno();
  throw SetupError(fmt::format("publish: cannot {} {}: {}{}", config.bind.empty() ? "connect to" : "bind",
                               config.endpoint(), zmq_strerror(why), net::what_to_do(why, config.endpoint())));
}

}  // namespace

std::shared_ptr<ZmqSocket> ZmqSocket::shared(const std::string& pipeline, const Config& config, bool lossless,
                                             std::int64_t most_bytes) {
  const std::lock_guard lock(registry().mutex);
  Registry::Entry& entry = registry().sockets[{pipeline, config.endpoint()}];
  if (auto socket = entry.socket.lock()) {
    const std::string_view key = entry.lossless != lossless ? "overrun" : difference(entry.config, config);
    if (key.empty()) {
      socket->expect(config.hwm_bytes, most_bytes);
      return socket;
    }
    throw SetupError(
        fmt::format("publish: `{}` differs from the open socket at {}. Entries with the same endpoint share a socket "
                    "and need equal values; to change them, restart iqd",
                    key, config.endpoint()));
  }
  auto socket = std::make_shared<ZmqSocket>(config, lossless, most_bytes);
  entry = {socket, config, lossless};
  return socket;
}

ZmqSocket::ZmqSocket(const Config& config, bool lossless, std::int64_t most_bytes)
    : endpoint_(config.endpoint()),
      pub_(config.kind == Kind::pub),
      lossless_(lossless),
      mark_(high_water_mark(config.hwm_bytes, most_bytes)),
      context_(net::make_context()) {
  // An XPUB socket is a PUB socket that reports subscriptions.
  socket_.reset(zmq_socket(context_.get(), pub_ ? ZMQ_XPUB : ZMQ_PUSH));
  void* const socket = socket_.get();
  if (!socket) throw SetupError(fmt::format("publish: cannot create a socket: {}", zmq_strerror(zmq_errno())));
  net::set_option(socket, ZMQ_SNDHWM, mark_);
  // One message from each reader is queued here; the others wait on the reader's side. With a longer queue, libzmq
  // takes them in as long as more come, and sends nothing meanwhile.
  net::set_option(socket, ZMQ_RCVHWM, 1);
  net::set_option(socket, ZMQ_LINGER, 0);
  net::set_option(socket, ZMQ_SNDTIMEO, lossless ? kSendPollMs : 0);
  if (pub_) {
    net::set_option(socket, ZMQ_XPUB_VERBOSER, 1);
    net::set_option(socket, ZMQ_XPUB_NODROP, lossless ? 1 : 0);
  }
  const bool bound = !config.bind.empty();
  door_ = std::make_unique<net::Door>(context_.get(), socket, config.access, bound, "publish: " + endpoint_,
                                      net::Subscriptions::kMessageBytes);
  if ((bound ? binding_.bind(socket, endpoint_) : zmq_connect(socket, endpoint_.c_str())) != 0) refuse(config);
  if (bound && endpoint_.find('*') != std::string::npos) endpoint_ = net::bound_address(socket);
}

/// Keeps the mark that was set before the first reader came. libzmq passes a changed one to all queues, including those
/// of leaving readers, whose memory may already be freed. And a lower mark would block readers that stay: they
/// acknowledge every half of their initial mark, and a shorter queue would stay full.
void ZmqSocket::expect(std::int64_t budget, std::int64_t most_bytes) {
  if (high_water_mark(budget, most_bytes) >= mark_) return;
  log::warn(
      "publish: {}: messages have become larger: until a restart, up to {:.0f} MB are queued for a slow reader, more "
      "than `hwm_bytes`",
      endpoint_, static_cast<double>(mark_) * static_cast<double>(most_bytes) / 1e6);
}

ZmqSocket::~ZmqSocket() {
  net::set_option(socket_.get(), ZMQ_LINGER, interrupted_ || outstanding_ > 0 ? 0 : kLingerMs);
}

void ZmqSocket::release_payload(void* data, void* hint) {
  auto* payload = static_cast<Payload*>(hint);
  ZmqSocket& socket = *payload->socket;
  if (payload->slot < 0) {
    std::free(data);
    delete payload;
  } else {
    const Lease::Raw lease = payload->lease;
    socket.free_payloads_.release(payload->slot);
    lease.give_back(lease.owner, lease.slot);
  }
  socket.outstanding_.fetch_sub(1, std::memory_order_acq_rel);
}

bool ZmqSocket::send_frame(void* message, int flags) {
  for (;;) {
    if (zmq_msg_send(static_cast<zmq_msg_t*>(message), socket_.get(), flags) >= 0) return true;
    const bool again = zmq_errno() == EAGAIN && lossless_ && !interrupted_.load(std::memory_order_acquire);
    if (!again && zmq_errno() != EINTR) return false;
  }
}

bool ZmqSocket::send_text(std::string_view text) {
  zmq_msg_t frame;
  if (zmq_msg_init_size(&frame, text.size()) != 0) return false;
  std::memcpy(zmq_msg_data(&frame), text.data(), text.size());
  if (send_frame(&frame, ZMQ_SNDMORE)) return true;
  zmq_msg_close(&frame);
  return false;
}

bool ZmqSocket::send(std::string_view key, std::string_view head, std::span<const std::byte> payload, Lease lease,
                     bool copy) {
  read_subscriptions();
  // Allocates first: half of a message cannot be undone.
  const int slot = copy ? -1 : free_payloads_.try_acquire();
  std::unique_ptr<Payload> made;
  std::unique_ptr<void, decltype(&std::free)> room(nullptr, &std::free);
  if (slot < 0) {
    made.reset(new (std::nothrow) Payload{this, {}, -1});
    room.reset(std::malloc(std::max<std::size_t>(payload.size(), 1)));
    if (!made || !room) return false;
  }
  if ((!key.empty() && !send_text(key)) || !send_text(head)) {
    if (slot >= 0) free_payloads_.release(slot);
    return false;
  }
  auto* data = const_cast<std::byte*>(payload.data());
  Payload* hint = made.release();
  if (slot >= 0) {
    hint = &payloads_[static_cast<std::size_t>(slot)];
    *hint = {this, lease.detach(), slot};
  } else {
    data = static_cast<std::byte*>(room.release());
    std::memcpy(data, payload.data(), payload.size());
  }
  outstanding_.fetch_add(1, std::memory_order_acq_rel);
  zmq_msg_t second;
  zmq_msg_init_data(&second, data, payload.size(), release_payload, hint);
  if (send_frame(&second, 0)) return true;
  zmq_msg_close(&second);
  return false;
}

void ZmqSocket::add_topic(const std::string& topic) {
  const std::lock_guard lock(topics_mutex_);
  topics_.insert(topic);
}

void ZmqSocket::read_subscriptions() {
  if (!pub_) return;
  door_->read_subscriptions([this](std::string_view asked, bool more) {
    const std::lock_guard lock(topics_mutex_);
    const bool ours =
        std::any_of(topics_.begin(), topics_.end(), [&](const std::string& t) { return (t + ' ').starts_with(asked); });
    if (ours) subscriptions_ += more ? 1 : -1;
  });
}

std::int64_t ZmqSocket::subscriptions() {
  read_subscriptions();
  return subscriptions_;
}

PeerCounts ZmqSocket::peers() const {
  return {endpoint_, door_->connected(), door_->handshake_failures(), door_->cut_off()};
}

void ZmqSocket::drain() {
  std::int64_t before = outstanding_;
  std::int64_t since = steady_ns();
  while (outstanding_ > 0 && !interrupted_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::int64_t now = steady_ns();
    if (outstanding_ != before) before = outstanding_, since = now;
    if (pub_ && now - since > kPatienceNs) {
      log::warn("publish: {}: {} messages not taken by a hung reader", endpoint_, outstanding_.load());
      return;
    }
  }
}

void ZmqSocket::interrupt() noexcept {
  interrupted_.store(true, std::memory_order_release);
}

}  // namespace iqd::publish
