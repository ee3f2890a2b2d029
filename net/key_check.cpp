// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/key_check.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/error.hpp"
#include "net/keys.hpp"

namespace iqd::net {
namespace {

void set_key(void* socket, int option, const std::string& key) {
  if (::zmq_setsockopt(socket, option, key.c_str(), key.size() + 1) != 0)
    throw SetupError(fmt::format("cannot set a key: {}", ::zmq_strerror(::zmq_errno())));
}

KeyPair own_keys(const Access& access, bool bound) {
  if (access.secret.empty() && !bound) return make_key_pair();
  const std::string secret = read_secret_key(access.secret);
  return {public_key_of(secret), secret};
}

std::string text_of_key(const std::string& bytes) {
  std::string key(41, '\0');
  ::zmq_z85_encode(key.data(), reinterpret_cast<const std::uint8_t*>(bytes.data()), 32);
  key.pop_back();
  return key;
}

}  // namespace

void give_keys(void* socket, const Access& access, bool bound) {
  const KeyPair own = own_keys(access, bound);
  set_key(socket, ZMQ_CURVE_PUBLICKEY, own.public_key);
  set_key(socket, ZMQ_CURVE_SECRETKEY, own.secret_key);
  if (bound)
    set_option(socket, ZMQ_CURVE_SERVER, 1);
  else
    set_key(socket, ZMQ_CURVE_SERVERKEY, read_public_key(access.server));
}

KeyCheck::KeyCheck(void* context, void* socket, std::string list) : list_(std::move(list)) {
  // libzmq checks keys with the ZAP handler only if a domain is set.
  ::zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, "iqd", 3);
  socket_.reset(::zmq_socket(context, ZMQ_REP));
  if (socket_) set_option(socket_.get(), ZMQ_LINGER, 0);
  if (!socket_ || ::zmq_bind(socket_.get(), "inproc://zeromq.zap.01") != 0)
    throw SetupError(fmt::format("cannot set up the key check: {}", ::zmq_strerror(::zmq_errno())));
}

std::optional<KeyCheck::Refusal> KeyCheck::answer() const {
  // version, request, domain, address, identity, mechanism, key
  const std::vector<std::string> question = receive_frames(socket_.get());
  const bool has_key = question.size() == 7 && question[5] == "CURVE" && question[6].size() == 32;
  std::string why = has_key ? refusal_of(text_of_key(question[6])) : "it uses no keys";
  const std::string status = why.empty() ? "200" : std::to_string(kTryAgain);
  const std::array<std::string, 6> reply{"1.0", question.size() > 1 ? question[1] : "", status, "", "", ""};
  for (std::size_t i = 0; i < reply.size(); ++i)
    ::zmq_send(socket_.get(), reply[i].data(), reply[i].size(), i + 1 < reply.size() ? ZMQ_SNDMORE : 0);
  if (why.empty()) return std::nullopt;
  return Refusal{question.size() > 3 ? question[3] : "a peer", std::move(why)};
}

/// Why a key may not connect; empty if it may.
std::string KeyCheck::refusal_of(const std::string& key) const {
  try {
    if (read_public_keys(list_).count(key) > 0) return {};
    return fmt::format("its key {} is not in {}", key, list_);
  } catch (const std::exception& e) {
    return fmt::format("no new peer can connect until the list is fixed: {}", e.what());
  }
}

}  // namespace iqd::net
