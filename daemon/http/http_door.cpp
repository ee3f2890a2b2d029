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
#include <array>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kLargestBody = 64 << 10;
/// For a whole request to arrive, and again for the client to take the answer.
constexpr std::int64_t kPatienceMs = 2000;
/// One connection each. With locked memory, their stacks are fully resident.
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

/// -1 if chunked; 0 if the request announces no body.
std::int64_t body_length(mg_connection* connection) {
  if (mg_get_header(connection, "Transfer-Encoding")) return -1;
  return std::max<std::int64_t>(mg_get_request_info(connection)->content_length, 0);
}

/// 0, or the status of the refusal.
int read_body(mg_connection* connection, std::string& body) {
  const std::int64_t length = body_length(connection);
  if (length > kLargestBody) return 413;
  const char* expect = mg_get_header(connection, "Expect");
  if (expect && std::string_view(expect) == "100-continue") mg_printf(connection, "HTTP/1.1 100 Continue\r\n\r\n");
  // Byte by byte: a longer read would wait for all of its bytes, however slowly they arrive.
  const std::int64_t ends_ns = steady_ns() + kPatienceMs * 1'000'000;
  for (char byte = 0; length < 0 || std::cmp_less(body.size(), length); body += byte) {
    const int got = mg_read(connection, &byte, 1);
    if (got == 0 && length < 0) return 0;
    if (steady_ns() >= ends_ns) return 408;
    if (got != 1) return 400;
    if (std::cmp_greater_equal(body.size(), kLargestBody)) return 413;
  }
  return 0;
}

std::string_view meaning_of(int status) {
  switch (status) {
    case 408: return "the body arrived too slowly";
    case 413: return "the body is larger than 64 KiB";
    default: return "the body is incomplete";
  }
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

/// Sets the stack size of threads started during its lifetime.
class SmallStacks {
 public:
  explicit SmallStacks(std::size_t bytes) {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t small;
    ::pthread_getattr_default_np(&small);
    ::pthread_attr_setstacksize(&small, bytes);
    ::pthread_setattr_default_np(&small);
    ::pthread_attr_destroy(&small);
  }
  ~SmallStacks() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  SmallStacks(const SmallStacks&) = delete;
  SmallStacks& operator=(const SmallStacks&) = delete;

 private:
  pthread_attr_t before_;
};

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

void send(mg_connection* connection, const HttpAnswer& answer, bool with_body, bool closes) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
      "{}{}\r\n",
      answer.status, mg_get_response_code_text(connection, answer.status), answer.type, answer.body.size(),
      answer.header, closes ? "Connection: close\r\n" : "");
  if (with_body) text += answer.body;
  // A client that does not take an answer gets no second one.
  if (std::cmp_not_equal(mg_write(connection, text.data(), text.size()), text.size()))
    mg_disable_connection_keep_alive(connection);
}

}  // namespace

HttpDoor::HttpDoor(Service& service, const Spec& spec)
    : service_(service), address_(listen_address(spec)), access_(access_to(address_, spec)), waiting_(kThreads) {
  const std::string where = address_.text();
  const std::string patience = std::to_string(kPatienceMs), threads = std::to_string(kThreads);
  // Empty access_control_* options: by default, the server allows other sites.
  std::array<const char*, 21> options{"listening_ports",
                                      where.c_str(),
                                      "num_threads",
                                      threads.c_str(),
                                      "request_timeout_ms",
                                      patience.c_str(),
                                      "enable_keep_alive",
                                      "yes",
                                      "keep_alive_timeout_ms",
                                      "500",
                                      "tcp_nodelay",
                                      "1",
                                      "access_control_allow_origin",
                                      "",
                                      "access_control_allow_methods",
                                      "",
                                      "access_control_allow_headers",
                                      "",
                                      "enable_directory_listing",
                                      "no",
                                      nullptr};
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
  std::string why;
  complaints = &why;
  mg_init_library(0);
  {
    const SmallStacks small(kStackBytes);
    server_ = mg_start(&callbacks, this, options.data());
  }
  complaints = nullptr;
  if (!server_) {
    mg_exit_library();
    throw SetupError(fmt::format("monitor.listen: cannot listen on {}: {}", where, why));
  }
  mg_server_port port{};
  if (mg_get_server_ports(server_, 1, &port) == 1) address_.port = port.port;
  port_.emplace(address_.port, [this](int file, std::string peer) { waiting_.came(file, std::move(peer)); });
  log::info("http: listening on {}", address_.text());
}

HttpDoor::~HttpDoor() {
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

int HttpDoor::serve(mg_connection* connection) {
  const mg_request_info& request = *mg_get_request_info(connection);
  bool has_unread_body = body_length(connection) != 0;
  HttpAnswer made;
  try {
    made = answer(connection, has_unread_body);
  } catch (const std::exception& e) {
    log::error("http: {} {}: {}", request.request_method, path_of(request), e.what());
    made = refusal(500, {"internal error; see iqd's log"});
  }
  // After an unread body, the start of the next request is unknown.
  const bool closes = has_unread_body || made.status == 401 || wants_close(connection, request) || waiting_.is_full();
  if (closes) mg_disable_connection_keep_alive(connection);
  send(connection, made, std::string_view(request.request_method) != "HEAD", closes);
  return made.status;
}

HttpAnswer HttpDoor::answer(mg_connection* connection, bool& has_unread_body) {
  const mg_request_info& request = *mg_get_request_info(connection);
  const Caller caller{mg_get_header(connection, "Host"), mg_get_header(connection, "Origin"),
                      mg_get_header(connection, "Authorization")};
  if (const auto no = access_.refuse(caller)) return refusal(no->status, {no->why});
  HttpAnswer none;
  HttpCall call{service_, plans_, {}, {}};
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
    if (const int status = read_body(connection, body)) return refusal(status, {std::string(meaning_of(status))});
    has_unread_body = false;
  }
  call.body = body;
  const HttpWaiting::Work work(waiting_, peer_of(connection));
  return route->answer(call);
}

}  // namespace iqd
