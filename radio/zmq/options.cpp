// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/options.hpp"

#include <algorithm>

#include "net/socket_need.hpp"
#include "radio/plausible.hpp"
#include "radio/zmq/raw_sink.hpp"
#include "radio/zmq/raw_source.hpp"
#include "radio/zmq/zmq_sink.hpp"
#include "radio/zmq/zmq_source.hpp"

namespace iqd::radio::zmq {
namespace {

void check_one_address(const Endpoints& endpoints, const Section& section) {
  if (endpoints.size() > 1) section.problem(endpoints.key(), "with `framing: json`, all channels share one address");
}

Needs sockets_of(const Endpoints& endpoints, std::size_t hwm_bytes) {
  Needs needs;
  for (std::size_t i = 0; i < endpoints.size(); ++i)
    needs.push_back(net::socket_need(endpoints[i].address(), hwm_bytes));
  return needs;
}

}  // namespace

void ZmqSourceOptions::fields(FieldVisitor& v) {
  SourceSettings& s = settings_;
  s.endpoints.fields(v);
  v.field("kind", s.kind,
          {.help = "sub: one of many subscribers, may miss messages; pull: takes messages from a queue; req: "
                   "requests each message, as srsRAN's radio does"});
  v.field("framing", s.framing,
          {.help = "what precedes the samples. json: iqd's header; raw: nothing; gnuradio-tags: the header of GNU "
                   "Radio's sinks with pass_tags; auto: raw with req, json otherwise"});
  v.field("topic", s.topic, {.help = "only messages with this topic; default: all"});
  v.field("rate", rate_hz_,
          {.help = "samples a second; messages with another rate are ignored; default: from the first header",
           .unit = Unit::rate,
           .low = 1,
           .bare_low = kSlowestStream});
  v.field("frequency", s.frequency_hz,
          {.help = "the radio's centre frequency; default: from the headers",
           .unit = Unit::hertz,
           .bare_low = kLowestRadio});
  v.field("channels", s.channels, {.help = "number of channels", .low = 1, .high = 1024, .shapes = true});
  v.field("element", s.element, {.help = "type of the samples", .shapes = true});
  v.field("message_bytes", s.message_bytes,
          {.help = "size limit of a message; a peer that announces more is disconnected. 0: a quarter of a second of "
                   "samples, at least 1 MiB, at most 32 MiB",
           .unit = Unit::bytes,
           .low = 0,
           .high = 4294967296.0});
}

SourceSettings ZmqSourceOptions::settings() const {
  SourceSettings settings = settings_;
  settings.rate_hz = rate_hz_.value_or(0);
  return settings;
}

StreamInfo ZmqSourceOptions::describe(const Section& section) const {
  const SourceSettings& s = settings_;
  s.endpoints.check(section);
  check_topic(s.topic, section);
  if (s.has_headers()) {
    check_one_address(s.endpoints, section);
    if (s.kind == SourceKind::req)
      section.problem("framing", "with `kind: req`, messages have no iqd header; use raw or gnuradio-tags");
  } else {
    check_channels(s.endpoints, s.channels, section);
    if (s.channels > 1 && s.kind == SourceKind::sub)
      section.problem("kind",
                      "a subscription may start at any message, so channels would not be in step; use pull or req");
    if (s.channels > 1 && s.framing == Framing::gnuradio_tags)
      section.problem("framing", "gnuradio-tags supports only one channel");
    if (!s.topic.empty() && s.kind == SourceKind::req)
      section.problem("topic", "with `kind: req`, messages have no topic");
    if (!rate_hz_ && !section.has("rate"))
      section.problem("rate", "is required, since messages without iqd's header do not say it");
  }
  StreamInfo info = settings().info();
  if (!rate_hz_) info.known = StreamInfo::Known::type;
  return info;
}

double ZmqSourceOptions::opening_wait_s() const {
  return rate_hz_ ? 0 : kFirstMessageS;
}

std::vector<std::string> ZmqSourceOptions::waits_for() const {
  return rate_hz_ ? std::vector<std::string>() : settings_.endpoints.connect;
}

std::unique_ptr<Source> ZmqSourceOptions::open() const {
  if (settings_.has_headers()) return std::make_unique<ZmqSource>(settings());
  return std::make_unique<RawSource>(settings());
}

Needs ZmqSourceOptions::needs(const StreamInfo&) const {
  return sockets_of(settings_.endpoints, 0);
}

std::pair<std::string, std::string> ZmqSinkOptions::topic_at() const {
  const std::vector<std::string>& connect = settings_.endpoints.connect;
  if (connect.size() != 1 || settings_.topic.empty()) return {};
  return {connect.front(), settings_.topic};
}

void ZmqSinkOptions::fields(FieldVisitor& v) {
  SinkSettings& s = settings_;
  s.endpoints.fields(v);
  v.field("kind", s.kind,
          {.help = "push: each message to one reader; pub: to all subscribers; rep: on request, as srsRAN's radio "
                   "does"});
  v.field("framing", s.framing,
          {.help = "what precedes the samples. json: iqd's header; raw: nothing; auto: raw with rep, json otherwise"});
  v.field("topic", s.topic, {.help = "default: the port's name with json, none with raw"});
  v.field("hwm_bytes", s.hwm_bytes, {.help = "push and pub: queue for a slow reader", .unit = Unit::bytes, .low = 1});
  v.field("wait", s.wait_s,
          {.help = "how long a message waits for a reader before it is dropped; default: 1 s with push, without limit "
                   "with rep",
           .unit = Unit::seconds,
           .low = 0,
           .high = 3600,
           .bare_high = 60});
  v.field("delay", s.delay_s,
          {.help = "rep: zeros before the first sample, for peers that wait for each other",
           .unit = Unit::seconds,
           .low = 0,
           .high = 10});
}

void ZmqSinkOptions::check(const PortFormat& format, const Section& section) const {
  const SinkSettings& s = settings_;
  s.endpoints.check(section);
  check_topic(s.topic, section);
  if (s.framing == Framing::gnuradio_tags)
    section.problem("framing", "a sink supports json and raw; for gnuradio-tags use `publish`");
  if (s.has_headers()) {
    check_one_address(s.endpoints, section);
    if (s.kind == SinkKind::rep) section.problem("framing", "with `kind: rep`, messages have no header; use raw");
  } else if (const std::string why = format.is_known() ? not_bare(format) : ""; !why.empty()) {
    section.problem("framing", why);
  } else if (format.is_known()) {
    check_channels(s.endpoints, format.dims.size() == 2 ? format.dims[0].extent : 1, section);
  }
  if (s.kind == SinkKind::rep && !s.topic.empty()) section.problem("topic", "with `kind: rep`, messages have no topic");
  if (s.kind != SinkKind::rep && s.delay_s > 0) section.problem("delay", "needs `kind: rep`");
}

std::unique_ptr<Sink> ZmqSinkOptions::open(const PortFormat& format) const {
  SinkSettings settings = settings_;
  if (settings.kind == SinkKind::rep) return std::make_unique<ReplySink>(settings, format);
  if (!settings.has_headers()) return std::make_unique<RawSink>(settings, format);
  if (settings.topic.empty()) settings.topic = format.port;
  return std::make_unique<ZmqSink>(settings, format);
}

Needs ZmqSinkOptions::needs(const PortFormat& format) const {
  const auto message = static_cast<std::size_t>(format.bytes(format.most()));
  if (settings_.kind == SinkKind::rep) return sockets_of(settings_.endpoints, 0);
  Needs needs = sockets_of(settings_.endpoints, std::max(static_cast<std::size_t>(settings_.hwm_bytes), message));
  // A message in flight is a copy.
  needs.push_back({.what = "messages to " + std::string(settings_.endpoints[0].address()), .bytes = message});
  return needs;
}

}  // namespace iqd::radio::zmq
