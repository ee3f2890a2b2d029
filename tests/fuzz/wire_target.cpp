// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "base/wire.hpp"
#include "daemon/sub/message_text.hpp"
#include "radio/zmq/header.hpp"
#include "radio/zmq/tag_header.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

constexpr std::int64_t kMost = 6;
constexpr std::string_view kFacts[] = {"length", "start", "snr"};

/// Characters that a configuration allows in a name.
std::string name_from(Bytes& bytes) {
  std::string name = "a";
  for (const char c : bytes.piece()) name += static_cast<char>(c & 0x7f);
  return name;
}

PortFormat format_from(Bytes& bytes) {
  PortFormat f;
  f.pipeline = name_from(bytes);
  f.port = name_from(bytes);
  f.element = static_cast<Element>(bytes.below(kElements.size()));
  constexpr std::string_view kNames[] = {"n", "packet", "channel", "bit"};
  for (std::size_t dims = bytes.below(4); dims > 0; --dims) {
    f.dims.push_back({std::string(bytes.pick(kNames)), static_cast<std::int64_t>(bytes.below(4))});
    if (bytes.flag()) f.dims.back().labels = {name_from(bytes)};
  }
  f.varying = static_cast<int>(bytes.below(f.dims.size() + 1)) - 1;
  if (f.varying >= 0) f.dims[static_cast<std::size_t>(f.varying)].extent = kMost;
  constexpr double kNumbers[] = {0, 1e6, 20.625e6, 1e-300, 1e300, INFINITY, NAN, -1, 0.1};
  f.rate_hz = bytes.pick(kNumbers);
  f.frequency_hz = bytes.pick(kNumbers);
  f.item_rate_hz = bytes.pick(kNumbers);
  f.llr_scale = bytes.pick(kNumbers);
  f.calibrated = bytes.flag();
  return f;
}

std::int64_t index_from(Bytes& bytes) {
  return bytes.take<std::int64_t>() & ((std::int64_t{1} << 60) - 1);
}

Message message_from(Bytes& bytes, const PortFormat& format) {
  Message m;
  m.format = &format;
  m.seq = bytes.take<std::uint64_t>();
  m.sample = index_from(bytes);
  m.position = index_from(bytes);
  m.time_ns = index_from(bytes);
  m.time = bytes.flag() ? TimeSource::radio : TimeSource::host;
  m.extent = format.varying < 0 ? 1 : static_cast<std::int64_t>(bytes.below(kMost + 1));
  m.gap = index_from(bytes);
  m.dropped = index_from(bytes);
  m.halo = index_from(bytes);
  m.tuned = bytes.flag() ? index_from(bytes) : -1;
  m.retuned_hz = bytes.take<float>();
  return m;
}

void check_json(const Message& m, std::string_view topic, std::size_t columns) {
  std::vector<char> head(header_bound(*m.format, topic.size(), columns, m.extent));
  const std::size_t n = write_header(m, topic, head);
  expect(n > 0, "a header is within its bound");
  std::string why;
  const auto read = read_message({head.data(), n}, m.payload, why);
  expect(read.has_value(), "readers accept it: " + why);
  expect(read->topic == topic && read->sample == m.sample && read->time_ns == m.time_ns && read->gap == m.gap &&
             read->seq == m.seq,
         "and find what was written");
  text_lines(*read);
  const auto header = radio::zmq::parse_header({head.data(), n});
  if (m.format->dims.size() > (m.format->element == Element::sc16 ? 3u : 4u)) return;
  expect(header && header->sample == m.sample && header->gap == m.gap, "sources, too");
}

void check_binary(const Message& m, std::string_view topic) {
  std::vector<char> head(topic.size() + 1 + kStructHeaderBytes);
  expect(write_struct_header(m, topic, head) == head.size(), "64 bytes and the topic");
  head.assign(gnuradio_header_bound(*m.format), 0);
  const std::size_t n = write_gnuradio_header(m, true, head);
  expect(n > 0, "tags are within their bound");
  std::vector<radio::zmq::TimeTag> times;
  const auto tags = radio::zmq::parse_tag_header({head.data(), n}, times);
  const bool is_in_range = std::isfinite(m.format->item_rate_hz > 0 ? m.format->item_rate_hz : m.format->rate_hz);
  expect(tags.has_value() || !is_in_range, "and can be read");
}

}  // namespace

/// The headers that iqd writes before a payload, as readers read them.
void wire(std::string_view input) {
  Bytes bytes(input);
  const PortFormat format = format_from(bytes);
  Message m = message_from(bytes, format);
  const std::vector<std::byte> payload(static_cast<std::size_t>(format.bytes(m.extent)), std::byte{65});
  m.payload = payload;
  // As positions they are not beyond what a stream reaches.
  std::vector<std::byte> values(kMost * sizeof(std::int64_t));
  for (std::size_t at = 0; at < values.size(); ++at)
    if (at % sizeof(std::int64_t) < 5) values[at] = static_cast<std::byte>(bytes.take<std::uint8_t>());
  std::vector<FactColumn> facts;
  for (std::size_t n = format.varying < 0 ? 0 : bytes.below(std::size(kFacts) + 1); n > 0; --n) {
    facts.push_back({kFacts[n - 1], static_cast<Element>(bytes.below(kElements.size())), values.data()});
    facts.back().positions = 1 + bytes.take<std::uint8_t>();
    facts.back().samples = 1 + bytes.take<std::uint8_t>();
  }
  m.facts = facts;
  std::string topic = name_from(bytes);
  std::erase_if(topic, [](char c) { return c <= ' '; });
  check_json(m, topic, facts.size());
  check_binary(m, topic);
}

}  // namespace iqd::fuzz
