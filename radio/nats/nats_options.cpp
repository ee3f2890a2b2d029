// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/nats/nats_options.hpp"

#include <fmt/format.h>

#include "radio/nats/nats_sink.hpp"
#include "radio/nats/nats_source.hpp"
#include "radio/plausible.hpp"

namespace iqd::radio::nats {
namespace {

/// A stream's name is one word without the characters of subjects.
void check_name(const std::string& name, std::string_view key, const Section& section) {
  if (name.empty() || section.is_wrong(key)) return;
  if (name.find_first_of(" .*>/\\\t\n") != name.npos)
    section.problem(key, fmt::format("'{}' cannot be a name: no spaces, dots, slashes, * or >", name));
}

Need link_need(const std::string& stream, std::size_t bytes) {
  return {.what = "nats " + stream, .bytes = bytes, .threads = 5, .files = 2};
}

}  // namespace

void NatsSourceOptions::fields(FieldVisitor& v) {
  link_.fields(v);
  v.field("stream", stream_, {.help = "name of the stream at the server", .required = true});
  v.field("reader", reader_, {.help = "name under which the server keeps this reader's place"});
  v.field("from", from_, {.help = "where a new reader begins"});
  v.field("rate", rate_hz_,
          {.help = "samples a second; messages with another rate are ignored",
           .unit = Unit::rate,
           .low = 1,
           .required = true,
           .bare_low = kSlowestStream});
  v.field("frequency", settings_.frequency_hz,
          {.help = "the radio's centre frequency; default: from the headers",
           .unit = Unit::hertz,
           .bare_low = kLowestRadio});
  v.field("channels", settings_.channels, {.help = "number of channels", .low = 1, .high = 1024, .shapes = true});
  v.field("element", settings_.element, {.help = "type of the samples", .shapes = true});
}

StreamInfo NatsSourceOptions::describe(const Section& section) const {
  link_.check(section);
  check_name(stream_, "stream", section);
  check_name(reader_, "reader", section);
  if (reader_.empty()) section.problem("reader", "is empty");
  zmq::SourceSettings settings = settings_;
  settings.rate_hz = rate_hz_;
  return settings.info();
}

std::unique_ptr<Source> NatsSourceOptions::open() const {
  zmq::SourceSettings settings = settings_;
  settings.rate_hz = rate_hz_;
  return std::make_unique<NatsSource>(stream_, hosts::open_feed(link_, stream_, reader_, from_), settings);
}

Needs NatsSourceOptions::needs(const StreamInfo&) const {
  return {link_need(stream_, 0)};
}

void NatsSinkOptions::fields(FieldVisitor& v) {
  link_.fields(v);
  v.field("stream", stream_.stream, {.help = "name of the stream at the server, which is made", .required = true});
  v.field("subject", stream_.subject, {.help = "subject of its messages; default: `iqd.` and the stream's name"});
  v.field("topic", topic_, {.help = "first word of every header; default: the port's name"});
  v.field("max_bytes", stream_.max_bytes,
          {.help = "size of the stream: the oldest messages make room", .unit = Unit::bytes, .low = 1});
  v.field("max_age", stream_.max_age_s,
          {.help = "how long messages stay; 0: without limit", .unit = Unit::seconds, .low = 0});
  v.field("storage", stream_.storage, {.help = "memory: fastest; file: survives a restart of the server"});
  v.field("replicas", stream_.replicas, {.help = "servers of the cluster that hold each message", .low = 1, .high = 5});
  v.field("buffer", buffer_, {.help = "messages that wait while the server is slow", .unit = Unit::bytes, .low = 0});
}

void NatsSinkOptions::check(const PortFormat&, const Section& section) const {
  link_.check(section);
  check_name(stream_.stream, "stream", section);
  if (topic_.find_first_of(" \t\n") != topic_.npos)
    section.problem("topic", fmt::format("'{}': a topic cannot contain spaces", topic_));
  if (stream_.subject.find_first_of(" *>\t\n") != stream_.subject.npos)
    section.problem("subject", fmt::format("'{}' is not the subject of a message: no spaces, * or >", stream_.subject));
}

std::unique_ptr<Sink> NatsSinkOptions::open(const PortFormat& format) const {
  hosts::StreamConfig stream = stream_;
  if (stream.subject.empty()) stream.subject = "iqd." + stream.stream;
  return std::make_unique<NatsSink>(hosts::open_store(link_, stream), topic_.empty() ? format.port : topic_, format);
}

Needs NatsSinkOptions::needs(const PortFormat& format) const {
  return {link_need(stream_.stream, 2 * static_cast<std::size_t>(format.bytes(format.most())))};
}

}  // namespace iqd::radio::nats
