// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "base/driver.hpp"
#include "radio/zmq/settings.hpp"

namespace iqd::radio::zmq {

/// Why a port cannot leave without headers; empty where it can: `[n]` or `[channel][n]` of anything.
std::string not_bare(const PortFormat& format);

/// Sends each message's samples and nothing else, by `push` or `pub`, one socket a channel. Where a topic is given it
/// is a frame of its own before them, which GNU Radio calls a key. Push sockets are waited for as by ZmqSink, all
/// together: a message goes out on every channel or on none. What is lost leaves no trace in the stream.
class RawSink final : public Sink {
 public:
  RawSink(const SinkSettings& settings, const PortFormat& format);
  bool send(const Message& message) override;
  /// What is still queued has ten seconds to leave after the sockets are closed.
  void finish() override;
  void interrupt() noexcept override { interrupted_ = true; }

 private:
  bool wait_until_taken();
  void send_frame(Socket& socket, const void* data, std::size_t bytes, int flags);

  SinkSettings settings_;
  std::deque<Socket> sockets_;
  bool patient_ = true;
  std::atomic<bool> interrupted_{false};
};

/// Answers questions for samples, as the transmitter of srsRAN's and OCUDU's ZeroMQ radio does, one socket a channel:
/// each answer has as much as there is, at most a millisecond, and no more than was asked for where the question is
/// four bytes, the number that GNU Radio asks for. `send` returns when every channel has had all of the message, so
/// that the peer's pace is the stream's. It waits `wait` for a question, for ever where that is not given; after it
/// waited in vain, messages are lost at once until somebody asks again.
///
/// The peer's only clock is its count of samples. So `delay` begins the stream with zeros, which are there before the
/// first message, since that may wait for them; a thread gives them away until it comes. And what was lost before a
/// message is zeros too, up to ten seconds. When a peer hangs up, what it had asked for is lost with it, on all
/// channels.
class ReplySink final : public Sink {
 public:
  ReplySink(const SinkSettings& settings, const PortFormat& format);
  ~ReplySink() override { take_over(); }
  bool send(const Message& message) override;
  void finish() override;
  void interrupt() noexcept override { interrupted_ = true; }

 private:
  struct Line {
    explicit Line(Endpoint endpoint) : socket(ZMQ_REP, std::move(endpoint)) {}
    Socket socket;
    std::uint64_t departures = 0;  // of peers
    std::int64_t zeros = 0;        // that precede the message
    std::int64_t left = 0;         // of both
    std::int64_t ahead = 0;        // samples that the peer has had of what counts as lost; negative: zeros still due
  };
  void serve_delay() noexcept;
  void take_over();
  bool serve(const std::byte* samples, std::int64_t count, double patience_s);
  bool wait_for_question(double patience_s);
  void answer(Line& line, const std::byte* samples, std::int64_t count);
  void keep_in_step();

  SinkSettings settings_;
  std::size_t size_;       // of a sample
  double rate_hz_;         // of the port
  double source_rate_hz_;  // that gaps are counted in
  std::int64_t most_;      // samples of an answer
  std::vector<std::byte> zeros_;
  std::deque<Line> lines_;
  std::vector<zmq_pollitem_t> polled_;
  bool began_ = false;
  bool patient_ = true;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> first_is_here_{false};
  std::thread early_;  // has the lines to itself until it is joined
};

}  // namespace iqd::radio::zmq
