// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_door.hpp"

#include <arpa/inet.h>
#include <civetweb.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "daemon/http/http_body.hpp"
#include "daemon/http/http_send.hpp"
#include "daemon/http/small_stacks.hpp"

namespace iqd {
namespace {

/// One connection each, and one for each viewer of the live page. With locked memory, their stacks are fully resident.
constexpr std::size_t kThreads = 16;
constexpr std::size_t kStackBytes = 1 << 20;

ListenAddress listen_address(const Spec& spec) {
  const std::optional<ListenAddress> address = parse_listen(spec.listen);
  if (!address) throw UsageError(fmt::format("monitor.listen: '{}' is not an IPv4 address with a port", spec.listen));
  return *address;
}

HttpAccess access_to(const ListenAddress& address, const Spec& spec) {
  return {address.is_loopback, spec.token_file.empty() ? "" : read_token(spec.token_file)};
}

/// Collects the server's error messages while a thread starts it.
thread_local std::string* complaints = nullptr;

int on_log(const mg_connection*, const char* message) {
  if (complaints) *complaints += fmt::format("{}{}", complaints->empty() ? "" : "; ", message);
  log::debug("http: {}", message);
  return 1;
}

std::string_view path_of(const mg_request_info& request) {
  return request.local_uri ? request.local_uri : "";
}

bool wants_close(mg_connection* connection, const mg_request_info& request) {
  const char* said = mg_get_header(connection, "Connection");
  return std::string_view(request.http_version) != "1.1" || (said && mg_strcasecmp(said, "close") == 0);
}

void tell_refused(const char* address, std::string_view why) {
  static log::RateLimit limit;
  std::uint64_t suppressed = 0;
  if (limit.allow(suppressed))
    log::warn("http: refused a change from {}: {}{}", address, why, log::more_times(suppressed));
}

/// The peer's name, in the format of net::ControlPort.
std::string peer_of(const mg_connection* connection) {
  const mg_request_info& request = *mg_get_request_info(connection);
  return fmt::format("{} port {}", request.remote_addr, request.remote_port);
}

/// Connects without waiting.
void call(const ListenAddress& address) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(address.port));
  ::inet_pton(AF_INET, address.host.c_str(), &to.sin_addr);
  static_cast<void>(::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to));
  ::close(socket);
}

std::string_view header_of(mg_connection* connection, const char* name) {
  const char* const value = mg_get_header(connection, name);
  return value ? value : "";
}

Caller caller_of(mg_connection* connection) {
  return {mg_get_header(connection, "Host"), mg_get_header(connection, "Origin"),
          mg_get_header(connection, "Authorization")};
}

using ServerOptions = std::vector<std::pair<const char*, std::string>>;

/// Empty access_control_* options: by default, the server allows other sites.
ServerOptions options_for(const ListenAddress& address, std::size_t threads) {
  return {{"listening_ports", address.text()},
          {"num_threads", std::to_string(threads)},
          {"request_timeout_ms", std::to_string(kHttpPatienceMs)},
          {"enable_keep_alive", "yes"},
          {"keep_alive_timeout_ms", "500"},
          {"tcp_nodelay", "1"},
          {"access_control_allow_origin", ""},
          {"access_control_allow_methods", ""},
          {"access_control_allow_headers", ""},
          {"enable_directory_listing", "no"}};
}

std::size_t threads_for(const Spec& spec) {
  return kThreads + (spec.page ? live::LiveHub::kMostViewers : 0);
}

}  // namespace

HttpDoor::HttpDoor(Service& service, const Spec& spec)
    : service_(service),
      address_(listen_address(spec)),
      access_(access_to(address_, spec)),
      recordings_(spec.recordings),
      live_(spec.page ? std::make_unique<HttpLive>(service, spec, access_) : nullptr),
      waiting_(threads_for(spec)) {
  start(threads_for(spec));
  mg_server_port port{};
  if (mg_get_server_ports(server_, 1, &port) == 1) address_.port = port.port;
  port_.emplace(address_.port, [this](int file, std::string peer) { waiting_.came(file, std::move(peer)); });
  if (live_)
    mg_set_websocket_handler(
        server_, std::string(HttpLive::kPath).c_str(), nullptr,
        [](mg_connection* connection, void* door) { static_cast<HttpDoor*>(door)->show_live(connection); },
        [](mg_connection*, int, char*, std::size_t, void*) { return 0; }, nullptr, this);
  log::info("http: listening on {}", address_.text());
}

void HttpDoor::start(std::size_t threads) {
  mg_callbacks callbacks{};
  callbacks.begin_request = [](mg_connection* connection) {
    return static_cast<HttpDoor*>(mg_get_user_context_data(connection))->serve(connection);
  };
  callbacks.log_message = on_log;
  callbacks.init_thread = [](const mg_context*, int) -> void* {
    ::pthread_setname_np(::pthread_self(), "iqd-http");
    return nullptr;
  };
  callbacks.connection_close = [](const mg_connection* connection) {
    static_cast<HttpDoor*>(mg_get_user_context_data(connection))->waiting_.left(peer_of(connection));
  };
  const ServerOptions options = options_for(address_, threads);
  std::vector<const char*> words;
  for (const auto& [name, value] : options) words.insert(words.end(), {name, value.c_str()});
  words.push_back(nullptr);
  std::string why;
  complaints = &why;
  mg_init_library(0);
  {
    const SmallStacks small(kStackBytes);
    server_ = mg_start(&callbacks, this, words.data());
  }
  complaints = nullptr;
  if (server_) return;
  mg_exit_library();
  throw SetupError(fmt::format("monitor.listen: cannot listen on {}: {}", address_.text(), why));
}

void HttpDoor::close_live() {
  if (live_) live_->close();
}

HttpDoor::~HttpDoor() {
  close_live();
  // The server notices the stop when a client connects, or within two seconds, if no thread can be started.
  std::jthread caller;
  try {
    caller = std::jthread([this](const std::stop_token& stopped) {
      for (; !stopped.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(5))) call(address_);
    });
  } catch (const std::system_error&) {
  }
  mg_stop(server_);
  port_.reset();
  mg_exit_library();
}

/// 0 for a viewer, for whom the server continues with `show_live`; otherwise the status of the answer.
int HttpDoor::serve(mg_connection* connection) {
  const mg_request_info& request = *mg_get_request_info(connection);
  bool has_unread_body = body_length(connection) != 0;
  HttpAnswer made;
  try {
    if (is_viewer(connection)) {
      const std::optional<HttpAnswer> refused = refuse_live(connection);
      if (!refused) return 0;
      made = *refused;
    } else {
      made = answer(connection, has_unread_body);
    }
  } catch (const std::exception& e) {
    log::error("http: {} {}: {}", request.request_method, path_of(request), e.what());
    made = refusal(500, {"internal error; see iqd's log"});
  }
  // After an unread body, the start of the next request is unknown.
  const bool closes = has_unread_body || made.status == 401 || wants_close(connection, request) || waiting_.is_full();
  if (closes) mg_disable_connection_keep_alive(connection);
  const int status = made.status;
  send_answer(connection, std::move(made), std::string_view(request.request_method) != "HEAD", closes);
  return status;
}

bool HttpDoor::is_viewer(mg_connection* connection) const {
  const mg_request_info& request = *mg_get_request_info(connection);
  return live_ && path_of(request) == HttpLive::kPath && std::string_view(request.request_method) == "GET" &&
         HttpLive::is_upgrade(connection);
}

/// Browsers let the pages of other sites read a WebSocket, so the server decides.
std::optional<HttpAnswer> HttpDoor::refuse_live(mg_connection* connection) const {
  const Caller caller = caller_of(connection);
  auto no = access_.refuse(caller);
  if (!no) no = access_.refuse_socket(caller);
  if (no) return refusal(no->status, {no->why});
  const char* const query = mg_get_request_info(connection)->query_string;
  if (!asked_traces(query ? query : "")) return refusal(400, {"trace is a number from 0 to 255, or none"});
  return std::nullopt;
}

/// The server cannot pass on exceptions.
void HttpDoor::show_live(mg_connection* connection) noexcept {
  try {
    const std::string peer = peer_of(connection);
    {
      const HttpWaiting::Work work(waiting_, peer);
      live_->show(connection);
    }
    // The server would wait for the viewer's own goodbye.
    waiting_.end(peer);
  } catch (const std::exception& e) {
    log::error("http: {}: {}", HttpLive::kPath, e.what());
  }
}

HttpAnswer HttpDoor::answer(mg_connection* connection, bool& has_unread_body) {
  const mg_request_info& request = *mg_get_request_info(connection);
  const Caller caller = caller_of(connection);
  if (const auto no = access_.refuse(caller)) return refusal(no->status, {no->why});
  HttpAnswer none;
  HttpCall call{service_, plans_, live_ ? &live_->hub() : nullptr, {}, {}, {}, request.remote_addr, recordings_};
  call.headers = {header_of(connection, "Accept"), header_of(connection, "If-None-Match")};
  const HttpRoute* route = find_route(request.request_method, path_of(request), call.names, none);
  if (!route) return none;
  std::string body;
  if (route->changes()) {
    if (const auto no = access_.refuse_change(caller)) {
      HttpAnswer refused = refusal(no->status, {no->why});
      if (no->status == 401) refused.header = "WWW-Authenticate: Bearer realm=\"iqd\"\r\n";
      tell_refused(request.remote_addr, no->why);
      return refused;
    }
    if (const int status = read_body(connection, body)) return refusal(status, {std::string(meaning_of_body(status))});
    has_unread_body = false;
  }
  call.body = body;
  const HttpWaiting::Work work(waiting_, peer_of(connection));
  return route->answer(call);
}

}  // namespace iqd
