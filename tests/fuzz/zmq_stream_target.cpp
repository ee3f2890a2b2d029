// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <zmq.h>

#include <memory>
#include <vector>

#include "base/wire.hpp"
#include "radio/zmq/raw_source.hpp"
#include "radio/zmq/zmq_source.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

using radio::zmq::Framing;
using radio::zmq::SampleFormat;
using radio::zmq::Socket;
using radio::zmq::SourceSettings;

constexpr double kRate = 1e6;
constexpr std::int64_t kMostStream = 64;  // samples of a call
constexpr std::int64_t kLastSamples = 7;
constexpr char kLast = '\x5a';  // all bytes of the message that marks the end of an input

SourceSettings settings_of(Bytes& bytes, const std::string& address) {
  SourceSettings s;
  s.endpoints.connect = {address};
  s.kind = radio::zmq::SourceKind::pull;
  constexpr Framing kFramings[] = {Framing::json, Framing::raw, Framing::gnuradio_tags};
  s.framing = bytes.pick(kFramings);
  constexpr SampleFormat kFormats[] = {SampleFormat::cf32, SampleFormat::sc16, SampleFormat::f32};
  s.element = bytes.pick(kFormats);
  s.channels = s.has_headers() ? 1 + static_cast<std::int64_t>(bytes.below(3)) : 1;
  if (bytes.flag()) s.topic = "a";
  if (bytes.flag()) s.frequency_hz = 1e9;
  s.rate_hz = kRate;
  return s;
}

void send(Socket& socket, std::string_view frame, bool more) {
  ::zmq_send(socket.handle(), frame.data(), frame.size(), ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0));
}

/// A message that every source accepts.
void send_last(Socket& socket, const SourceSettings& s) {
  PortFormat format;
  format.element = s.type();
  if (s.channels > 1) format.dims = {{"channel", s.channels}};
  format.dims.push_back({"n", kLastSamples});
  format.varying = static_cast<int>(format.dims.size()) - 1;
  format.rate_hz = format.item_rate_hz = kRate;
  const std::string payload(static_cast<std::size_t>(format.bytes(kLastSamples)), kLast);
  Message message;
  message.format = &format;
  message.extent = kLastSamples;
  message.payload = std::as_bytes(std::span(payload));
  std::vector<char> head(header_bound(format, s.topic.size(), 0, kLastSamples) + gnuradio_header_bound(format));
  if (s.framing == Framing::json) {
    const std::size_t n = write_header(message, s.topic, head);
    send(socket, {head.data(), n}, true);
    return send(socket, payload, false);
  }
  if (!s.topic.empty()) send(socket, s.topic, true);
  if (s.framing == Framing::raw) return send(socket, payload, false);
  const std::size_t n = write_gnuradio_header(message, true, head);
  send(socket, {head.data(), n}, true);
  send(socket, std::string_view(payload).substr(size_of(format.element)), false);
}

/// Receives from a source until the last message has arrived.
void receive_all(Source& source, const SourceSettings& s) {
  const std::size_t row = kMostStream * size_of(s.type());
  std::vector<std::vector<std::byte>> rows(static_cast<std::size_t>(s.channels));
  std::vector<std::byte*> into;
  for (auto& r : rows) {
    r.resize(row);
    into.push_back(r.data());
  }
  for (bool last = false; !last;) {
    const Received got = source.receive(into, kMostStream);
    expect(got.event != Received::Event::failed && got.event != Received::Event::end, "no message ends the stream");
    if (got.event != Received::Event::samples) continue;
    expect(got.samples > 0 && got.samples <= kMostStream, "as many samples as were asked for at most");
    expect(got.lost >= 0 && got.lost <= 3'600'000'000, "the number of lost samples is plausible");
    expect(got.tuned >= -1 && got.tuned < got.samples, "the radio was set at one of these samples");
    last = rows.back().front() == static_cast<std::byte>(kLast);
  }
}

/// A message: the number of frames, then each of them.
void send_message(Socket& socket, Bytes& bytes) {
  const std::size_t frames = (bytes.below(4) + 1) % 4 + 1;
  for (std::size_t f = 1; f <= frames; ++f) send(socket, bytes.piece(), f < frames);
}

}  // namespace

/// Messages from a peer, one after the other, to a zmq source.
void zmq_stream(std::string_view input) {
  constexpr int kMessages = 50;  // fits into both queues
  static Socket keeps_context(ZMQ_PAIR, {"", "inproc://", {}});
  static int sockets = 0;  // counted for new addresses, since closed ones are free again only later
  const std::string address = "inproc://" + std::to_string(++sockets);
  Bytes bytes(input);
  const SourceSettings settings = settings_of(bytes, address);
  Socket peer(ZMQ_PUSH, {address, "", {}});
  peer.open(std::int64_t{1} << 20);
  std::unique_ptr<Source> source;
  if (settings.has_headers())
    source = std::make_unique<radio::zmq::ZmqSource>(settings);
  else
    source = std::make_unique<radio::zmq::RawSource>(settings);
  for (int i = 0; i < kMessages && !bytes.empty(); ++i) send_message(peer, bytes);
  send_last(peer, settings);
  receive_all(*source, settings);
}

}  // namespace iqd::fuzz
