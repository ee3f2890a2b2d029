// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/raw_line.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "radio/radio_settings.hpp"

namespace iqd::radio::zmq {
namespace {

/// The request of srsRAN's receiver. Peers take a single byte as "everything available".
constexpr unsigned char kRequest = 0xff;
constexpr std::int64_t kRestNs = 1'000'000;

int socket_type(SourceKind kind) {
  return kind == SourceKind::req ? ZMQ_REQ : kind == SourceKind::sub ? ZMQ_SUB : ZMQ_PULL;
}

/// The topic alone, as GNU Radio's `key`, or followed by a header.
bool is_topic(std::string_view frame, std::string_view topic) {
  return frame.starts_with(topic) && (frame.size() == topic.size() || frame[topic.size()] == ' ');
}

}  // namespace

RawLine::RawLine(const SourceSettings& settings, Endpoint endpoint)
    : settings_(settings),
      asks_(settings.kind == SourceKind::req),
      address_(endpoint.address()),
      socket_(socket_type(settings.kind), std::move(endpoint)),
      samples_(size_of(settings.type())) {
  socket_.set(ZMQ_RCVHWM, settings.high_water());
  if (asks_) socket_.notice_lost_hosts();
  if (settings.kind == SourceKind::sub) socket_.subscribe(settings.topic);
  socket_.open(settings.most_received());
}

RawLine::Came RawLine::fetch() {
  if (rests_until_ns_ > steady_ns()) return Came::nothing;
  rests_until_ns_ = 0;
  if (asks_ && !asked_ && !ask()) return Came::nothing;
  if (frame_.receive(socket_.handle(), ZMQ_DONTWAIT)) return accept();
  if (::zmq_errno() != EAGAIN && ::zmq_errno() != EINTR) {
    why_ = last_error();
    return Came::failed;
  }
  const std::uint64_t now = departures();
  return std::exchange(departures_, now) != now ? Came::gone : Came::nothing;
}

bool RawLine::ask() {
  departures_ = departures();
  asked_ = ::zmq_send(socket_.handle(), &kRequest, 1, ZMQ_DONTWAIT) >= 0;
  return asked_;
}

zmq_pollitem_t RawLine::poll_item() const noexcept {
  const bool asking = asks_ && !asked_;
  return {socket_.handle(), 0, static_cast<short>(asking ? ZMQ_POLLOUT : ZMQ_POLLIN), 0};
}

RawLine::Came RawLine::accept() {
  const std::optional<std::size_t> begin = within_ ? 0 : open_message();
  if (!begin) return refuse(std::move(why_));
  const std::string_view bytes = frame_.text().substr(*begin);
  if (!samples_.are_whole(bytes))
    return refuse(fmt::format("its {} bytes are not a whole number of {}", bytes.size(), name_of(settings_.type())));
  within_ = frame_.more();
  asked_ = asked_ && within_;
  count_.arrived(samples_.add(bytes));
  if (bytes.empty() && asks_) rests_until_ns_ = steady_ns() + kRestNs;
  if (bytes.empty()) return Came::nothing;
  if (asks_ && !asked_) ask();
  return Came::samples;
}

/// Discards the whole message. A message with a longer topic that only starts with the subscribed one is not reported:
/// ZeroMQ matches prefixes.
RawLine::Came RawLine::refuse(std::string why) {
  why_ = std::move(why);
  while (frame_.more() && frame_.receive(socket_.handle(), ZMQ_DONTWAIT)) {
  }
  if (asks_) rests_until_ns_ = steady_ns() + kRestNs;
  within_ = asked_ = false;
  samples_.drop();
  return why_.empty() ? Came::nothing : Came::refused;
}

/// Reads what precedes the samples, and returns where in the frame they begin.
std::optional<std::size_t> RawLine::open_message() {
  why_.clear();
  samples_.begin_message();
  if (!settings_.topic.empty()) {
    if (!is_topic(frame_.text(), settings_.topic)) {
      if (settings_.kind != SourceKind::sub) why_ = "it has another topic";
      return {};
    }
    if (!frame_.more() || !frame_.receive(socket_.handle(), ZMQ_DONTWAIT)) {
      why_ = "it has only a topic";
      return {};
    }
  } else if (settings_.framing != Framing::gnuradio_tags && frame_.more()) {
    why_ = "it has several frames; set `framing: json` for messages of iqd, or `topic` for messages with a key";
    return {};
  }
  return settings_.framing == Framing::gnuradio_tags ? read_tags() : 0;
}

std::optional<std::size_t> RawLine::read_tags() {
  const auto header = parse_tag_header(frame_.text(), samples_.times());
  if (!header) {
    why_ = "it does not begin with GNU Radio's tag header";
    return {};
  }
  if (header->rate_hz > 0) other_rate_ = !same_rate(header->rate_hz, settings_.rate_hz);
  if (other_rate_) {
    why_ = fmt::format("its rate is not {} samples a second", settings_.rate_hz);
    return {};
  }
  count_.next_is(header->offset);  // the samples of refused messages are missing here as well
  return header->bytes;
}

std::uint64_t RawLine::departures() const {
  return socket_.door() ? socket_.door()->departures() : 0;
}

}  // namespace iqd::radio::zmq
