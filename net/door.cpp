// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/door.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "net/keys.hpp"
#include "net/peer.hpp"

namespace iqd::net {
namespace {

/// Of a handshake. It also is how long somebody who was refused waits before the next attempt, and how long a peer that
/// says nothing keeps a file descriptor.
constexpr int kHandshakeMs = 5000;
constexpr std::int64_t kSettledNs = 6'000'000'000;
/// Who was cut off, and who else comes from there, waits so long: otherwise it is back in a millisecond.
constexpr std::int64_t kUnwelcomeNs = 1'000'000'000;
constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_MONITOR_STOPPED |
                        ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
constexpr std::uint32_t kTryAgainStatus = 300;

void set_key(void* socket, int option, const std::string& key) {
  if (::zmq_setsockopt(socket, option, key.c_str(), key.size() + 1) != 0)
    throw SetupError(fmt::format("cannot set a key: {}", ::zmq_strerror(::zmq_errno())));
}

std::vector<std::string> receive(void* socket) {
  std::vector<std::string> frames;
  for (int more = 1; more != 0;) {
    zmq_msg_t m;
    ::zmq_msg_init(&m);
    if (::zmq_msg_recv(&m, socket, 0) < 0) return {};
    frames.emplace_back(static_cast<const char*>(::zmq_msg_data(&m)), ::zmq_msg_size(&m));
    more = ::zmq_msg_more(&m);
    ::zmq_msg_close(&m);
  }
  return frames;
}

std::string reason_of(std::uint16_t event, std::uint32_t value, bool curve) {
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) return "it refused this side's key";
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)
    return "it has a wrong public key for this side";
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
    return curve ? "it uses no keys, and here they are wanted" : "it uses keys, and here are none";
  return "it hung up, or does not speak ZeroMQ's protocol";
}

}  // namespace

Door::Door(void* context, void* socket, const Access& access, bool bound, std::string name, std::int64_t message_bytes)
    : context_(context), socket_(socket), access_(access), name_(std::move(name)), message_bytes_(message_bytes) {
  set_option(socket_, ZMQ_HANDSHAKE_IVL, kHandshakeMs);
  ::zmq_setsockopt(socket_, ZMQ_MAXMSGSIZE, &message_bytes_, sizeof message_bytes_);
  try {
    if (access_.curve) give_keys(bound);
    watch();
    thread_ = std::thread([this] { serve(); });
  } catch (const std::runtime_error& e) {
    throw SetupError(fmt::format("{}: {}", name_, e.what()));
  }
}

Door::~Door() {
  ::zmq_socket_monitor(socket_, nullptr, 0);  // the last event ends the thread
  thread_.join();
}

void Door::give_keys(bool bound) {
  const KeyPair own = [&]() -> KeyPair {
    if (access_.secret.empty() && !bound) return make_key_pair();
    const std::string secret = read_secret_key(access_.secret);
    return {public_key_of(secret), secret};
  }();
  set_key(socket_, ZMQ_CURVE_PUBLICKEY, own.public_key);
  set_key(socket_, ZMQ_CURVE_SECRETKEY, own.secret_key);
  if (!bound) return set_key(socket_, ZMQ_CURVE_SERVERKEY, read_public_key(access_.server));
  set_option(socket_, ZMQ_CURVE_SERVER, 1);
  if (access_.allow == kAnybody)
    return log::info("{}: encrypted; whoever has this side's public key may come in", name_);
  log::info("{}: encrypted; {} key(s) in {} may come in", name_, read_public_keys(access_.allow).size(), access_.allow);
  // With a domain libzmq asks for every key that comes; without one it asks nobody.
  ::zmq_setsockopt(socket_, ZMQ_ZAP_DOMAIN, "iqd", 3);
  zap_.reset(::zmq_socket(context_, ZMQ_REP));
  if (zap_) set_option(zap_.get(), ZMQ_LINGER, 0);
  if (!zap_ || ::zmq_bind(zap_.get(), "inproc://zeromq.zap.01") != 0)
    throw SetupError(fmt::format("cannot guard the socket: {}", ::zmq_strerror(::zmq_errno())));
}

void Door::watch() {
  const std::string address = fmt::format("inproc://iqd.door.{}", socket_);
  monitor_.reset(::zmq_socket(context_, ZMQ_PAIR));
  if (!monitor_ || ::zmq_socket_monitor(socket_, address.c_str(), kEvents) != 0 ||
      ::zmq_connect(monitor_.get(), address.c_str()) != 0)
    throw SetupError(fmt::format("cannot watch the socket: {}", ::zmq_strerror(::zmq_errno())));
}

void Door::serve() {
  for (;;) {
    std::array<zmq_pollitem_t, 2> items{{{monitor_.get(), 0, ZMQ_POLLIN, 0}, {zap_.get(), 0, ZMQ_POLLIN, 0}}};
    if (::zmq_poll(items.data(), zap_ ? 2 : 1, -1) < 0) {
      if (::zmq_errno() == EINTR) continue;
      return;
    }
    // Events come first: where a thousand of them wait, libzmq's own thread waits too, and the stream with it.
    if (items[0].revents != 0) {
      if (!take_event()) return;
    } else if (zap_ && items[1].revents != 0) {
      answer();
    }
  }
}

/// One question of libzmq (its protocol ZAP, RFC 27): may this key come in?
void Door::answer() {
  // version, request, domain, address, identity, mechanism, key
  const std::vector<std::string> question = receive(zap_.get());
  std::string key(40, ' ');
  std::string why = "it uses no keys";
  bool welcome = false;
  if (question.size() == 7 && question[5] == "CURVE" && question[6].size() == 32) {
    key.push_back('\0');
    ::zmq_z85_encode(key.data(), reinterpret_cast<const std::uint8_t*>(question[6].data()), 32);
    key.pop_back();
    welcome = may_enter(key, why);
  }
  // A client that is refused for good (400) never tries again, even when its key is on the list later.
  const std::string status = welcome ? "200" : std::to_string(kTryAgainStatus);
  const std::array<std::string, 6> reply{"1.0", question.size() > 1 ? question[1] : "", status, "", "", ""};
  for (std::size_t i = 0; i < reply.size(); ++i)
    ::zmq_send(zap_.get(), reply[i].data(), reply[i].size(), i + 1 < reply.size() ? ZMQ_SNDMORE : 0);
  if (!welcome) log_failure(question.size() > 3 ? question[3] : "a peer", why);
}

bool Door::may_enter(const std::string& key, std::string& why) const {
  try {
    if (read_public_keys(access_.allow).count(key) > 0) return true;
    why = fmt::format("its key {} is not in {}", key, access_.allow);
  } catch (const std::exception& e) {
    why = fmt::format("nobody new can come in before the list is mended: {}", e.what());
  }
  return false;
}

/// False when it was the last.
bool Door::take_event() {
  const std::vector<std::string> frames = receive(monitor_.get());
  std::uint16_t event = 0;
  std::uint32_t value = 0;
  if (frames.empty() || frames[0].size() != sizeof event + sizeof value) return !frames.empty();
  std::memcpy(&event, frames[0].data(), sizeof event);
  std::memcpy(&value, frames[0].data() + sizeof event, sizeof value);
  const std::lock_guard lock(mutex_);
  switch (event) {
    case ZMQ_EVENT_MONITOR_STOPPED: return false;
    case ZMQ_EVENT_ACCEPTED:
    case ZMQ_EVENT_CONNECTED: begin(static_cast<int>(value)); break;
    case ZMQ_EVENT_DISCONNECTED: end(static_cast<int>(value)); break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: ++succeeded_, ++connected_; break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      if (value == kTryAgainStatus) {
        ++failed_, ++refused_;
        break;
      }
      [[fallthrough]];
    default: failing_ = reason_of(event, value, access_.curve);
  }
  return true;
}

void Door::begin(int file) {
  reached_ = true;
  Connection& c = open_[file] = {Peer(file), steady_ns(), succeeded_};
  // Before it costs a handshake and the time to take back what it asks for.
  const auto found = unwelcome_.find(c.peer.host());
  c.is_cut_off = found != unwelcome_.end() && c.since_ns < found->second;
  if (c.is_cut_off) c.peer.cut_off();
}

/// libzmq tells of a success or a failure without saying whose it is. A failure is followed at once by the end of its
/// connection. Other ends are those of peers that were let in, of peers that the list refused, and of peers with an old
/// protocol, for which there is no event.
void Door::end(int file) {
  auto node = open_.extract(file);
  Connection c;
  if (node) c = std::move(node.mapped());
  const bool never_in = c.succeeded_before == succeeded_;
  if (never_in && c.is_cut_off) {
    // Nothing was said to it that could have failed.
  } else if (!failing_.empty()) {
    ++failed_;
    log_failure(c.peer.name(), failing_);
  } else if (never_in && refused_ > 0) {
    --refused_;
  } else if (never_in && access_.curve) {
    ++failed_;
    log_failure(c.peer.name(), "it speaks no ZeroMQ, or an old protocol without keys");
  } else {
    ++departures_;
    if (!never_in) --connected_;
    // libzmq does not give its reason, but who closed can be seen.
    if (!c.is_cut_off && !c.peer.hung_up())
      cut_off(c, fmt::format("a message of more than {} bytes, or none of ZeroMQ's", message_bytes_));
  }
  failing_.clear();
  if (open_.empty()) connected_ = refused_ = 0;
}

void Door::read_subscriptions(const std::function<void(std::string_view topic, bool more)>& each) {
  // More may come all the time; the stream has to go on.
  constexpr std::int64_t kMostNs = 1'000'000;
  int last = -1;
  for (const std::int64_t began = steady_ns(); steady_ns() - began < kMostNs;) {
    zmq_msg_t m;
    ::zmq_msg_init(&m);
    const bool came = ::zmq_msg_recv(&m, socket_, ZMQ_DONTWAIT) >= 0;
    const std::string_view message(static_cast<const char*>(::zmq_msg_data(&m)), ::zmq_msg_size(&m));
    // What libzmq itself gives back for a reader that left comes from no file.
    if (came) look_at(last = ::zmq_msg_get(&m, ZMQ_SRCFD), message);
    if (came && !message.empty() && (message[0] == 0 || message[0] == 1)) each(message.substr(1), message[0] == 1);
    ::zmq_msg_close(&m);
    if (!came) return;
  }
  forget_if_gone(last);
}

/// A reader that sent much and left would be there until all of that is read, which takes seconds on a slow stream.
void Door::forget_if_gone(int file) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(file);
  if (found != open_.end() && !found->second.is_cut_off && found->second.peer.hung_up()) found->second.peer.cut_off();
}

void Door::look_at(int file, std::string_view message) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(file);
  if (found == open_.end() || found->second.is_cut_off) return;
  if (const std::string_view why = found->second.asked.take(message, steady_ns()); !why.empty())
    return cut_off(found->second, why);
  std::size_t of_all = 0;
  for (const auto& [other, connection] : open_) of_all += connection.is_cut_off ? 0 : connection.asked.bytes();
  if (of_all > Subscriptions::kMostBytesOfAll) cut_off(largest(), "most of 128 KiB of subscriptions");
}

/// Of those who are not cut off yet, and there is one.
Door::Connection& Door::largest() {
  const auto bytes = [](const auto& c) { return c.second.is_cut_off ? 0 : c.second.asked.bytes(); };
  return std::ranges::max_element(open_, {}, bytes)->second;
}

void Door::cut_off(Connection& connection, std::string_view why) {
  connection.is_cut_off = true;
  connection.peer.cut_off();
  const std::int64_t now = steady_ns();
  std::erase_if(unwelcome_, [now](const auto& host) { return host.second < now; });
  unwelcome_[std::string(connection.peer.host())] = now + kUnwelcomeNs;
  ++cut_off_;
  if (std::uint64_t more = 0; cut_off_lines_.allow(more))
    log::warn("{}: {} was disconnected: it sent {}{}", name_, connection.peer.name(), why, log::more_times(more));
}

void Door::log_failure(const std::string& peer, const std::string& why) {
  std::uint64_t suppressed = 0;
  if (!limit_.allow(suppressed)) return;
  log::warn("{}: a handshake with {} failed: {}{}", name_, peer, why, log::more_times(suppressed));
}

std::int64_t Door::connected() const {
  const std::lock_guard lock(mutex_);
  // Whose handshake took longer than it may has it behind him.
  const std::int64_t settled = steady_ns() - kSettledNs;
  const auto sure =
      std::count_if(open_.begin(), open_.end(), [&](const auto& c) { return c.second.since_ns < settled; });
  return std::clamp<std::int64_t>(connected_, sure, std::ssize(open_));
}

std::uint64_t Door::handshake_failures() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

std::uint64_t Door::cut_off() const {
  const std::lock_guard lock(mutex_);
  return cut_off_;
}

std::uint64_t Door::departures() const {
  const std::lock_guard lock(mutex_);
  return departures_;
}

bool Door::reached() const {
  const std::lock_guard lock(mutex_);
  return reached_;
}

}  // namespace iqd::net
