// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>

#include "base/clock.hpp"
#include "base/log_terminal.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/sub/message_print.hpp"
#include "daemon/sub/message_reader.hpp"
#include "daemon/sub/subscriber_hints.hpp"

namespace iqd {
namespace {

struct SubOptions {
  MessageOrigin origin;
  bool has_topic = false;
  bool all = false;
  bool quiet = false;
  std::int64_t count = 0;
  double seconds = 0;
  PrintOptions print;
};

std::atomic<bool> stop_asked{false};

void stop_on_signals() {
  struct sigaction act {};
  act.sa_handler = [](int) { stop_asked = true; };
  for (const int s : {SIGINT, SIGTERM}) ::sigaction(s, &act, nullptr);
}

class Subscriber {
 public:
  explicit Subscriber(const SubOptions& options)
      : options_(options), reader_(options.origin), watch_(reader_, options.origin, patience_ns(), steady_ns()) {}

  Exit run() {
    const std::int64_t began = steady_ns();
    const auto ends = static_cast<std::int64_t>(options_.seconds * 1e9);
    while (!stop_asked && !enough()) {
      if (options_.seconds > 0 && steady_ns() - began >= ends) break;
      const bool idle = !take_one();
      if (idle || steady_ns() >= next_look_ns_) look(idle);
      if (idle) reader_.wait(options_.seconds > 0 ? ends - (steady_ns() - began) : kPollNs);
    }
    report(watch_.end(steady_ns()));
    const MessageTally::Totals totals = tally_.totals();
    print_summary(totals, why_, options_.print.as_json);
    if (totals.messages > 0 || options_.seconds <= 0 || stop_asked) return Exit::ok;
    fmt::print(stderr, "iqd: nothing arrived from {} within {} s\n", options_.origin.endpoint, options_.seconds);
    return Exit::failed;
  }

 private:
  static constexpr std::int64_t kPollNs = 100'000'000;

  /// Half of the time at most, so that there is time to listen to other topics.
  std::int64_t patience_ns() const {
    constexpr double kPatience = 3;
    return static_cast<std::int64_t>(1e9 *
                                     (options_.seconds > 0 ? std::min(kPatience, options_.seconds / 2) : kPatience));
  }

  void look(bool idle) {
    std::fflush(stdout);
    report(watch_.look(steady_ns(), idle));
    next_look_ns_ = steady_ns() + kPollNs;
  }

  static void report(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) fmt::print(stderr, "{}{}\n", line.starts_with(' ') ? "" : "iqd: ", line);
  }

  bool enough() const {
    return options_.count > 0 && tally_.totals().messages >= static_cast<std::uint64_t>(options_.count);
  }

  /// False if no message is waiting.
  bool take_one() {
    const MessageReader::Came came = reader_.next();
    if (came == MessageReader::Came::nothing) return false;
    const bool is_whole = came == MessageReader::Came::message;
    if (!watch_.wants(reader_.topic(), reader_.bytes(), is_whole ? &reader_.message() : nullptr)) return true;
    if (is_whole)
      take(reader_.message());
    else
      tally_.take_malformed(), why_ = reader_.why();
    return true;
  }

  void take(MessageView& message) {
    tally_.take(message, reader_.bytes(), steady_ns());
    if (!options_.quiet) print_message(message, options_.print);
  }

  SubOptions options_;
  MessageReader reader_;
  SubscriberHints watch_;
  MessageTally tally_;
  std::int64_t next_look_ns_ = 0;
  std::string why_;
};

void check_keys(const SubOptions& o) {
  const net::Access& a = o.origin.access;
  if (!a.curve) return;
  if (o.origin.bind && (a.secret.empty() || a.allow.empty() || !a.server.empty()))
    throw UsageError("with --bind, others connect to this side: give --key and --allow, not --server");
  if (!o.origin.bind && (a.server.empty() || !a.allow.empty()))
    throw UsageError("--server is missing: the file with the publisher's public key (--allow is for --bind)");
}

Exit run(SubOptions options) {
  net::Access& access = options.origin.access;
  access.curve = !access.secret.empty() || !access.server.empty() || !access.allow.empty();
  if (!options.has_topic && !options.all && !options.origin.push) throw UsageError("give a topic, or --all");
  if (options.has_topic && !options.origin.topic.empty() && options.all)
    throw UsageError("give either a topic or --all");
  if (options.origin.topic.find_first_of(" \t\n") != std::string::npos)
    throw UsageError(fmt::format("'{}' contains a space, which topics cannot", options.origin.topic));
  if (options.print.as_text && options.print.as_json) throw UsageError("give either --text or --json");
  if (options.count < 0 || options.print.values < 0) throw UsageError("--count and --values must not be negative");
  if (!(options.seconds >= 0 && options.seconds < 1e9)) throw UsageError("--seconds must be 0 to 1e9");
  require_endpoint(options.origin.endpoint);
  if (options.origin.bind && !options.origin.push) throw UsageError("--bind is for --push: a publisher that connects");
  check_keys(options);
  // A side that connects gets an explanation instead of the door's log.
  if (!options.origin.bind) log::hide_below(log::Level::error);
  options.print.with_topic = options.origin.topic.empty();
  stop_on_signals();
  return Subscriber(options).run();
}

}  // namespace

void add_sub(CommandLine& line) {
  auto o = std::make_shared<SubOptions>();
  line.command("sub", "read what iqd publishes, and report what was lost", [o] { return run(*o); })
      .option("ENDPOINT", &o->origin.endpoint, "address of the publisher, e.g. tcp://127.0.0.1:5555",
              {.required = true})
      .option("TOPIC", &o->origin.topic, "exactly this topic; \"\" for all", {.given = &o->has_topic})
      .option("--all", &o->all, "all topics")
      .option("--count", &o->count, "end after this many messages")
      .option("--seconds", &o->seconds, "end after this many seconds; exit 1 if nothing arrived")
      .option("--values", &o->print.values, "values to show of each message (4)")
      .option("--quiet", &o->quiet, "print only the summary")
      .option("--json", &o->print.as_json,
              "print a JSON object a line: the header with topic and values; last, the summary")
      .option("--text", &o->print.as_text, "print bytes as text: a line for each item, without header")
      .option("--push", &o->origin.push, "the publisher has `kind: push`")
      .option("--bind", &o->origin.bind, "with --push: bind ENDPOINT, and wait for publishers to connect")
      .option("--key", &o->origin.access.secret, "file of your secret key, from iqd keygen")
      .option("--server", &o->origin.access.server, "file with the publisher's public key, if it has `curve:`")
      .option("--allow", &o->origin.access.allow, "with --bind: file with the public keys that may connect, or any");
}

}  // namespace iqd
