// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>

#include "base/clock.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/sub/message_tally.hpp"
#include "daemon/sub/message_text.hpp"
#include "radio/file/iso_time.hpp"
#include "radio/zmq/socket.hpp"

namespace iqd {
namespace {

using nlohmann::json;

struct SubOptions {
  std::string endpoint;
  std::string topic;
  bool has_topic = false;
  bool all = false;
  bool push = false;
  bool bind = false;
  bool as_json = false;
  bool quiet = false;
  bool as_text = false;
  std::int64_t count = 0;
  double seconds = 0;
  std::int64_t values = 4;
  net::Access access;
};

std::atomic<bool> stop_asked{false};

void stop_on_signals() {
  struct sigaction act {};
  act.sa_handler = [](int) { stop_asked = true; };
  for (const int s : {SIGINT, SIGTERM}) ::sigaction(s, &act, nullptr);
}

/// A ZeroMQ message; libzmq owns the memory of its parts.
class Frame {
 public:
  Frame() { ::zmq_msg_init(&message_); }
  ~Frame() { ::zmq_msg_close(&message_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  /// False if no message is waiting.
  bool receive(void* socket) { return ::zmq_msg_recv(&message_, socket, ZMQ_DONTWAIT) >= 0; }
  bool more() { return ::zmq_msg_more(&message_) != 0; }
  std::span<const std::byte> bytes() {
    return {static_cast<const std::byte*>(::zmq_msg_data(&message_)), ::zmq_msg_size(&message_)};
  }
  std::string_view text() { return {static_cast<const char*>(::zmq_msg_data(&message_)), bytes().size()}; }

 private:
  zmq_msg_t message_;
};

std::string plain(std::string_view text) {
  std::string s(text);
  std::replace_if(
      s.begin(), s.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return s;
}

std::string time_text(const MessageView& m) {
  if (!m.time_ns || *m.time_ns <= 0) return "-";
  const auto source = m.header.find("time");
  const bool radio = source != m.header.end() && *source == "radio";
  return fmt::format("{} {}", radio::format_iso_time(*m.time_ns), radio ? "radio" : "host");
}

template <class T> std::string or_dash(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

/// Retunes and calibration; empty unless the header mentions them.
std::string setting_text(const json& header) {
  std::string text;
  if (const auto tuned = header.find("tuned"); tuned != header.end() && tuned->is_number_integer()) {
    text += fmt::format("  tuned from sample {}", tuned->dump());
    if (const auto f = header.find("frequency"); f != header.end() && f->is_number())
      text += fmt::format(" to {} Hz", f->dump());
  }
  if (const auto c = header.find("calibrated"); c != header.end() && c->is_boolean())
    text += c->get<bool>() ? "  calibrated" : "  not calibrated";
  return text;
}

void print_line(const MessageView& m, const SubOptions& o) {
  if (o.topic.empty()) fmt::print("{}  ", plain(m.topic));
  fmt::print("seq {}  sample {}  {}  {} {}{}  gap {}", or_dash(m.seq), or_dash(m.sample), time_text(m), shape_text(m),
             m.dtype, m.pairs ? " iq" : "", m.gap);
  fmt::print("{}", setting_text(m.header));
  const std::int64_t shown = std::min(m.values(), o.values);
  for (std::int64_t i = 0; i < shown; ++i) fmt::print("{}{}", i == 0 ? "  " : " ", text_of(value_at(m, i)));
  fmt::print("{}\n", shown > 0 && shown < m.values() ? " …" : "");
}

void print_json(MessageView& m, const SubOptions& o) {
  json line = std::move(m.header);
  line["topic"] = m.topic;
  json& values = line["values"] = json::array();
  for (std::int64_t i = 0; i < std::min(m.values(), o.values); ++i) values.push_back(json_of(value_at(m, i)));
  fmt::print("{}\n", line.dump(-1, ' ', false, json::error_handler_t::replace));
}

json summary_json(const MessageTally::Totals& t) {
  return {{"messages", t.messages},
          {"bytes", t.bytes},
          {"seconds", t.seconds},
          {"megabytes_per_second", t.bytes_per_second / 1e6},
          {"messages_per_second", t.messages_per_second},
          {"gap_samples", t.gap},
          {"lost_messages", t.lost},
          {"out_of_order", t.out_of_order},
          {"restarts", t.restarts},
          {"malformed", t.malformed},
          {"topics", t.topics}};
}

void print_summary(const MessageTally::Totals& t, const std::string& why, bool as_json) {
  if (as_json) {
    json all = {{"summary", summary_json(t)}};
    if (!why.empty()) all["summary"]["malformed_why"] = why;
    fmt::print("{}\n", all.dump(-1, ' ', false, json::error_handler_t::replace));
    return;
  }
  fmt::print("{} messages, {} bytes in {:.3f} s: {:.3f} MB/s, {:.1f} messages/s\n", t.messages, t.bytes, t.seconds,
             t.bytes_per_second / 1e6, t.messages_per_second);
  fmt::print(
      "lost: {} samples by the headers' gaps, {} messages by seq; out of order: {}; restarts: {}; malformed: {}\n",
      t.gap, t.lost, t.out_of_order, t.restarts, t.malformed);
  if (!why.empty()) fmt::print("last malformed message: {}\n", plain(why));
}

radio::zmq::Endpoint endpoint_of(const SubOptions& o) {
  return {o.bind ? o.endpoint : "", o.bind ? "" : o.endpoint, o.access};
}

/// Larger than any block.
constexpr std::int64_t kMostReceived = std::int64_t{4} << 30;

class Subscriber {
 public:
  explicit Subscriber(const SubOptions& options)
      : options_(options), socket_(options.push ? ZMQ_PULL : ZMQ_SUB, endpoint_of(options)) {
    if (!options_.push) socket_.subscribe(options_.topic.empty() ? "" : options_.topic + " ");
    socket_.open(kMostReceived);
  }

  Exit run() {
    const std::int64_t began = steady_ns();
    const auto ends = static_cast<std::int64_t>(options_.seconds * 1e9);
    while (!stop_asked && !enough()) {
      if (options_.seconds > 0 && steady_ns() - began >= ends) break;
      if (!wondered_ && steady_ns() - began >= kWonderNs) wonder();
      if (!take_one()) wait(options_.seconds > 0 ? ends - (steady_ns() - began) : kPollNs);
    }
    const MessageTally::Totals totals = tally_.totals();
    print_summary(totals, why_, options_.as_json);
    if (totals.messages > 0 || options_.seconds <= 0 || stop_asked) return Exit::ok;
    fmt::print(stderr, "iqd: nothing arrived from {} within {} s\n", options_.endpoint, options_.seconds);
    return Exit::failed;
  }

 private:
  static constexpr std::int64_t kPollNs = 100'000'000;
  static constexpr std::int64_t kWonderNs = 3'000'000'000;

  /// A publisher that refuses a reader does not tell it: this is the only hint that the reader gets.
  void wonder() {
    wondered_ = true;
    const net::Door* const door = socket_.door();
    if (door == nullptr || options_.bind || tally_.totals().messages > 0 || door->connected() > 0) return;
    const char* why = "no answer: is the publisher running, and does a firewall block it?";
    if (door->reached())
      why =
          options_.access.curve
              ? "the handshake fails: --server must be the publisher's public key, the public key of --key must be on "
                "its list, and the publisher needs `curve:`"
              : "the handshake fails: if the publisher has `curve:`, give --server and --key";
    fmt::print(stderr, "iqd: {}: {}\n", options_.endpoint, why);
  }

  bool enough() const {
    return options_.count > 0 && tally_.totals().messages >= static_cast<std::uint64_t>(options_.count);
  }

  void wait(std::int64_t most_ns) {
    std::fflush(stdout);
    zmq_pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
    ::zmq_poll(&item, 1, static_cast<long>(std::clamp<std::int64_t>(most_ns, 0, kPollNs) / 1'000'000 + 1));
  }

  /// False if no message is waiting.
  bool take_one() {
    Frame head, payload, rest;
    if (!head.receive(socket_.handle())) return false;
    // All parts of a message arrive at once.
    int parts = 1;
    bool more = head.more();
    if (more) {
      payload.receive(socket_.handle());
      more = payload.more();
      ++parts;
    }
    for (; more && rest.receive(socket_.handle()); ++parts) more = rest.more();
    std::optional<MessageView> message;
    if (parts == 2)
      message = read_message(head.text(), payload.bytes(), why_now_);
    else
      why_now_ = fmt::format("{} frames instead of 2", parts);
    if (message)
      take(*message, head.bytes().size() + payload.bytes().size());
    else
      tally_.take_malformed(), why_ = why_now_;
    return true;
  }

  void take(MessageView& message, std::size_t bytes) {
    if (options_.push && !options_.topic.empty() && message.topic != options_.topic) return;
    tally_.take(message, bytes, steady_ns());
    if (options_.quiet) return;
    if (options_.as_text && message.dtype == "<u1")
      for (const std::string& line : text_lines(message)) fmt::print("{}\n", line);
    else if (options_.as_json)
      print_json(message, options_);
    else
      print_line(message, options_);
  }

  SubOptions options_;
  radio::zmq::Socket socket_;
  MessageTally tally_;
  std::string why_;
  std::string why_now_;
  bool wondered_ = false;
};

void check_keys(const SubOptions& o) {
  const net::Access& a = o.access;
  if (!a.curve) return;
  if (o.bind && (a.secret.empty() || a.allow.empty() || !a.server.empty()))
    throw UsageError("with --bind, others connect to this side: give --key and --allow, not --server");
  if (!o.bind && (a.server.empty() || !a.allow.empty()))
    throw UsageError("--server is missing: the file with the publisher's public key (--allow is for --bind)");
}

Exit run(SubOptions options) {
  const net::Access& access = options.access;
  options.access.curve = !access.secret.empty() || !access.server.empty() || !access.allow.empty();
  if (!options.has_topic && !options.all && !options.push) throw UsageError("give a topic, or --all");
  if (options.has_topic && !options.topic.empty() && options.all) throw UsageError("give either a topic or --all");
  if (options.topic.find_first_of(" \t\n") != std::string::npos)
    throw UsageError(fmt::format("'{}' contains a space, which topics cannot", options.topic));
  if (options.as_text && options.as_json) throw UsageError("give either --text or --json");
  if (options.count < 0 || options.values < 0) throw UsageError("--count and --values must not be negative");
  if (!(options.seconds >= 0 && options.seconds < 1e9)) throw UsageError("--seconds must be 0 to 1e9");
  if (options.endpoint.find("://") == std::string::npos)
    throw UsageError(fmt::format("'{}' is not an address: use tcp://host:port or ipc://path", options.endpoint));
  if (options.bind && !options.push) throw UsageError("--bind is for --push: a publisher that connects");
  check_keys(options);
  stop_on_signals();
  return Subscriber(options).run();
}

}  // namespace

void add_sub(CommandLine& line) {
  auto o = std::make_shared<SubOptions>();
  line.command("sub", "read what iqd publishes, and report what was lost", [o] { return run(*o); })
      .option("ENDPOINT", &o->endpoint, "address of the publisher, e.g. tcp://127.0.0.1:5555", {.required = true})
      .option("TOPIC", &o->topic, "exactly this topic; \"\" for all", {.given = &o->has_topic})
      .option("--all", &o->all, "all topics")
      .option("--count", &o->count, "end after this many messages")
      .option("--seconds", &o->seconds, "end after this many seconds; exit 1 if nothing arrived")
      .option("--values", &o->values, "values to show of each message (4)")
      .option("--quiet", &o->quiet, "print only the summary")
      .option("--json", &o->as_json, "print a JSON object a line: the header with topic and values; last, the summary")
      .option("--text", &o->as_text, "print bytes as text: a line for each item, without header")
      .option("--push", &o->push, "the publisher has `kind: push`")
      .option("--bind", &o->bind, "with --push: bind ENDPOINT, and wait for publishers to connect")
      .option("--key", &o->access.secret, "file of your secret key, from iqd keygen")
      .option("--server", &o->access.server, "file with the publisher's public key, if it has `curve:`")
      .option("--allow", &o->access.allow, "with --bind: file with the public keys that may connect, or any");
}

}  // namespace iqd
