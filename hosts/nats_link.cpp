// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/nats_link.hpp"

#include <fmt/format.h>

#include <deque>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "net/nkey.hpp"

namespace iqd::hosts {
namespace {

constexpr int kConnectMs = 3000;
constexpr int kReconnectMs = 100;
/// A server that does not read is left after so long; a thread that sends waits no longer.
constexpr int kWriteMs = 1000;
constexpr int kPingMs = 1000;
constexpr int kMostPings = 2;
/// What is written while there is no connection is refused: the sender repeats it.
constexpr int kReconnectBytes = 64 << 10;
/// So long a refusal without a repetition is shown.
constexpr std::int64_t kRefusalNs = 10'000'000'000;

/// Without the line of libnats' source that it begins with: `(conn.c:1905): `.
std::string_view without_place(std::string_view reason) {
  const std::size_t end = reason.find("): ");
  return reason.starts_with('(') && end != reason.npos ? reason.substr(end + 3) : reason;
}

/// Throws Unreachable if no server answered, else SetupError.
[[noreturn]] void raise(natsStatus status, const std::string& what) {
  if (status == NATS_NO_SERVER || status == NATS_TIMEOUT) throw Unreachable(what);
  throw SetupError(what);
}

}  // namespace

std::string text_of(natsStatus status, jsErrCode code) {
  natsStatus last = NATS_OK;
  const char* const reason = nats_GetLastError(&last);
  std::string text = natsStatus_GetText(status);
  if (reason && *reason && last == status) text += fmt::format(" ({})", without_place(reason));
  if (code != 0) text += fmt::format(", code {}", static_cast<int>(code));
  return text;
}

void must(natsStatus status, const std::string& what, jsErrCode code) {
  if (status != NATS_OK) throw SetupError(fmt::format("{}: {}", what, text_of(status, code)));
}

void NatsLink::State::note_outage(const std::string& what) {
  const std::lock_guard lock(mutex);
  if (ends || outage == what) return;
  outage = what;
  if (!what.empty()) log::warn("{}: {}", name, what);
}

void NatsLink::State::note_refusal(const std::string& what) {
  const std::lock_guard lock(mutex);
  if (ends) return;
  const std::int64_t now = steady_ns();
  if (refusal != what || now - refused_ns > kRefusalNs) log::warn("{}: {}", name, what);
  refusal = what, refused_ns = now;
}

/// Empty if there was none lately.
std::string NatsLink::State::late_refusal() const {
  return steady_ns() - refused_ns < kRefusalNs ? refusal : std::string();
}

/// Without end: libnats may call a handler even after the one that it calls last.
std::shared_ptr<NatsLink::State>* NatsLink::hold(std::shared_ptr<State> state) {
  static std::mutex mutex;
  static auto& all = *new std::deque<std::shared_ptr<State>>;
  const std::lock_guard lock(mutex);
  return &all.emplace_back(std::move(state));
}

Held<natsOptions> NatsLink::options_of(const LinkConfig& config, State& state) {
  natsOptions* made = nullptr;
  must(natsOptions_Create(&made), state.name);
  Held<natsOptions> options(made);
  std::vector<const char*> servers;
  for (const std::string& server : config.servers) servers.push_back(server.c_str());
  const auto set = [&](natsStatus status, std::string_view what) {
    must(status, fmt::format("{}: {}", state.name, what));
  };
  set(natsOptions_SetServers(made, servers.data(), static_cast<int>(servers.size())), "servers");
  set(natsOptions_SetName(made, state.name.c_str()), "name");
  natsOptions_SetTimeout(made, kConnectMs);
  natsOptions_SetMaxReconnect(made, -1);
  natsOptions_SetReconnectWait(made, kReconnectMs);
  natsOptions_SetReconnectJitter(made, kReconnectMs, kReconnectMs);
  natsOptions_SetReconnectBufSize(made, kReconnectBytes);
  natsOptions_SetWriteDeadline(made, kWriteMs);
  natsOptions_SetPingInterval(made, kPingMs);
  natsOptions_SetMaxPingsOut(made, kMostPings);
  natsOptions_SetFailRequestsOnDisconnect(made, true);
  // Else, a thread of libnats collects messages for a while.
  natsOptions_SetSendAsap(made, true);
  if (!config.key.empty())
    set(natsOptions_SetNKeyFromSeed(made, net::read_nkey(config.key).c_str(), config.key.c_str()), config.key);
  if (config.has_tls()) set(natsOptions_SetSecure(made, true), "tls");
  if (!config.ca.empty()) set(natsOptions_LoadCATrustedCertificates(made, config.ca.c_str()), config.ca);
  return options;
}

NatsLink::NatsLink(const LinkConfig& config, std::string name, std::function<void()> reconnected)
    : state_(std::make_shared<State>()) {
  state_->name = std::move(name);
  state_->reconnected = std::move(reconnected);
  const Held<natsOptions> options = options_of(config, *state_);
  auto* const held = hold(state_);
  natsOptions_SetErrorHandler(
      options.get(),
      [](natsConnection* connection, natsSubscription*, natsStatus status, void* closure) {
        const char* why = nullptr;
        natsConnection_GetLastError(connection, &why);
        (*static_cast<std::shared_ptr<State>*>(closure))
            ->note_refusal(fmt::format("{}{}{}", natsStatus_GetText(status), why && *why ? ": " : "",
                                       why ? without_place(why) : std::string_view()));
      },
      held);
  natsOptions_SetDisconnectedCB(
      options.get(),
      [](natsConnection*, void* closure) {
        State& state = **static_cast<std::shared_ptr<State>*>(closure);
        state.connected = false;
        state.note_outage("no connection to the server");
      },
      held);
  natsOptions_SetReconnectedCB(
      options.get(),
      [](natsConnection*, void* closure) {
        State& state = **static_cast<std::shared_ptr<State>*>(closure);
        ++state.connections;
        state.connected = true;
        state.note_outage("");
        const std::lock_guard lock(state.mutex);
        if (state.ends) return;
        log::info("{}: connected again", state.name);
        if (state.reconnected) state.reconnected();
      },
      held);
  natsOptions_SetClosedCB(
      options.get(),
      [](natsConnection*, void* closure) {
        State& state = **static_cast<std::shared_ptr<State>*>(closure);
        const std::lock_guard lock(state.mutex);
        // After two refusals, libnats gives up a server for good.
        const std::string refusal = state.late_refusal();
        if (!state.ends) state.failure = state.name + ": " + (refusal.empty() ? state.outage : refusal);
      },
      held);
  natsConnection* connection = nullptr;
  const natsStatus status = natsConnection_Connect(&connection, options.get());
  if (status != NATS_OK)
    raise(status, fmt::format("{}: cannot connect to {}: {}", state_->name, config.servers.front(), text_of(status)));
  connection_.reset(connection);
  state_->connected = natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED;
  jsOptions js;
  jsOptions_Init(&js);
  js.Wait = kConnectMs;
  jsCtx* context = nullptr;
  must(natsConnection_JetStream(&context, connection, &js), state_->name);
  stream_.reset(context);
}

NatsLink::~NatsLink() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ends = true;
    state_->reconnected = nullptr;
  }
  stream_.reset();
  if (connection_) natsConnection_Close(connection_.get());
}

std::string NatsLink::server() const {
  if (!is_connected()) return {};
  char url[256] = {};
  return natsConnection_GetConnectedUrl(connection_.get(), url, sizeof url) == NATS_OK ? url : "";
}

std::string NatsLink::trouble() const {
  const std::lock_guard lock(state_->mutex);
  return state_->outage.empty() ? state_->late_refusal() : state_->outage;
}

std::string NatsLink::failure() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failure;
}

std::size_t NatsLink::most_bytes() const {
  return static_cast<std::size_t>(natsConnection_GetMaxPayload(connection_.get()));
}

double NatsLink::round_trip_s() const {
  std::int64_t ns = 0;
  return natsConnection_GetRTT(connection_.get(), &ns) == NATS_OK ? static_cast<double>(ns) * 1e-9 : 0;
}

Held<natsSubscription> NatsLink::listen(const std::string& subject, Each each) const {
  auto* const closure = new Each(std::move(each));
  natsSubscription* made = nullptr;
  const natsStatus status = natsConnection_Subscribe(
      &made, connection_.get(), subject.c_str(),
      [](natsConnection* connection, natsSubscription*, natsMsg* message, void* to) {
        (*static_cast<Each*>(to))(connection, Held<natsMsg>(message));
      },
      closure);
  if (status != NATS_OK) {
    delete closure;
    must(status, fmt::format("{}: subscribing to {}", state_->name, subject));
  }
  natsSubscription_SetPendingLimits(made, -1, -1);
  natsSubscription_SetOnCompleteCB(
      made, [](void* to) { delete static_cast<Each*>(to); }, closure);
  return Held<natsSubscription>(made);
}

}  // namespace iqd::hosts
