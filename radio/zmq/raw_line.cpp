// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/raw_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "radio/radio_settings.hpp"

namespace iqd::radio::zmq {
namespace {

/// What srsRAN's receiver asks with. Whoever answers takes a single byte for "as much as there is".
constexpr unsigned char kRequest = 0xff;
constexpr std::int64_t kRestNs = 1'000'000;

int socket_type(SourceKind kind) {
  return kind == SourceKind::req ? ZMQ_REQ : kind == SourceKind::sub ? ZMQ_SUB : ZMQ_PULL;
}

/// The topic alone, as GNU Radio's `key`, or with a header behind it.
bool is_topic(std::string_view frame, std::string_view topic) {
  return frame.starts_with(topic) && (frame.size() == topic.size() || frame[topic.size()] == ' ');
}

}  // namespace

RawLine::RawLine(const SourceSettings& settings, Endpoint endpoint)
    : settings_(settings),
      asks_(settings.kind == SourceKind::req),
      size_(size_of(settings.type())),
      address_(endpoint.address()),
      socket_(socket_type(settings.kind), std::move(endpoint)) {
  socket_.set(ZMQ_RCVHWM, settings.high_water());
  if (asks_) socket_.notice_lost_hosts();
  if (settings.kind == SourceKind::sub) socket_.subscribe(settings.topic);
  socket_.open(settings.most_received());
}

RawLine::Came RawLine::fetch() {
  if (rests_until_ns_ > steady_ns()) return Came::nothing;
  rests_until_ns_ = 0;
  if (asks_ && !asked_ && !ask()) return Came::nothing;
  at_ = 0;  // where nothing comes, libzmq leaves an empty frame
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
  if (!within_ && !open_message()) return refuse(std::move(why_));
  const std::size_t bytes = frame_.size() - at_;
  if (bytes % size_ != 0)
    return refuse(fmt::format("its {} bytes are no whole number of {}", bytes, name_of(settings_.type())));
  within_ = frame_.more();
  asked_ = asked_ && within_;
  expected_ += expected_ < 0 ? 0 : static_cast<std::int64_t>(bytes / size_);
  if (bytes == 0 && asks_) rests_until_ns_ = steady_ns() + kRestNs;
  if (bytes == 0) return Came::nothing;
  if (asks_ && !asked_) ask();
  return Came::samples;
}

/// None of the message is used. Of what is no message of the topic that was subscribed to nothing is said: ZeroMQ goes
/// by its beginning.
RawLine::Came RawLine::refuse(std::string why) {
  why_ = std::move(why);
  while (frame_.more() && frame_.receive(socket_.handle(), ZMQ_DONTWAIT)) {
  }
  if (asks_) rests_until_ns_ = steady_ns() + kRestNs;
  within_ = asked_ = false;
  at_ = frame_.size();
  return why_.empty() ? Came::nothing : Came::refused;
}

/// What stands before the samples.
bool RawLine::open_message() {
  why_.clear();
  times_.clear();
  taken_ = 0;
  if (!settings_.topic.empty()) {
    if (!is_topic(frame_.text(), settings_.topic)) {
      if (settings_.kind != SourceKind::sub) why_ = "its topic is another";
      return false;
    }
    if (!frame_.more() || !frame_.receive(socket_.handle(), ZMQ_DONTWAIT)) {
      why_ = "it has a topic and nothing more";
      return false;
    }
  } else if (settings_.framing != Framing::gnuradio_tags && frame_.more()) {
    why_ = "it has several frames; messages of iqd want `framing: json`, those with a key its name as `topic`";
    return false;
  }
  return settings_.framing != Framing::gnuradio_tags || read_tags();
}

bool RawLine::read_tags() {
  const auto header = parse_tag_header(frame_.text(), times_);
  if (!header) {
    why_ = "it does not begin with GNU Radio's header of tags";
    return false;
  }
  if (header->rate_hz > 0) other_rate_ = !same_rate(header->rate_hz, settings_.rate_hz);
  if (other_rate_) {
    why_ = fmt::format("its samples have another rate than {} a second", settings_.rate_hz);
    return false;
  }
  // What was left out before has not been asked for yet.
  skipped_ += expected_ < 0 ? 0 : header->offset - expected_;
  expected_ = header->offset;
  at_ = header->bytes;
  return true;
}

std::int64_t RawLine::left() const noexcept {
  const auto whole = static_cast<std::int64_t>((frame_.size() - at_) / size_);
  const auto next = std::find_if(times_.begin(), times_.end(), [this](const TimeTag& t) { return t.sample > taken_; });
  return next == times_.end() ? whole : std::min(whole, next->sample - taken_);
}

void RawLine::take(std::byte* into, std::int64_t samples) noexcept {
  const std::size_t bytes = static_cast<std::size_t>(samples) * size_;
  std::memcpy(into, frame_.data() + at_, bytes);
  at_ += bytes;
  std::erase_if(times_, [this](const TimeTag& t) { return t.sample <= taken_; });
  taken_ += samples;
}

const std::int64_t* RawLine::time_ns() const noexcept {
  return !times_.empty() && times_.front().sample == taken_ ? &times_.front().time_ns : nullptr;
}

std::uint64_t RawLine::departures() const {
  return socket_.door() ? socket_.door()->departures() : 0;
}

}  // namespace iqd::radio::zmq
