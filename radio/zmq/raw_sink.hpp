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

/// Why a port cannot be sent without headers; empty if it can: `[n]` or `[channel][n]` of any type.
std::string not_bare(const PortFormat& format);

/// Sends each message's samples and nothing else, by `push` or `pub`, one socket per channel. A topic, if given,
/// precedes them as a frame of its own, which GNU Radio calls a key. Waits for all push sockets, as ZmqSink does: a
/// message goes out on every channel or on none. Receivers cannot see what is dropped.
class RawSink final : public Sink {
 public:
  RawSink(const SinkSettings& settings, const PortFormat& format);
  bool send(const Message& message) override;
  /// Queued messages have ten seconds to leave after the sockets are closed.
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

/// Answers requests for samples, like the transmitter of srsRAN's and OCUDU's ZeroMQ radio, one socket per channel.
/// Each answer has the samples available, at most a millisecond; if the request is a 4-byte number, as from GNU Radio,
/// at most that many. `send` returns when every channel has had the whole message, so the peer sets the pace of the
/// stream. It waits `wait` for a request, or without limit if that is not given. After a time-out, messages are dropped
/// at once until the next request.
/// The peer's only clock is its count of samples. So `delay` starts the stream with zeros. They are available before
/// the first message, since that may depend on them: a thread sends them until it arrives. A gap before a message
/// becomes zeros, too, up to ten seconds. When a peer hangs up, the samples that it requested are lost, on all
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
    std::int64_t zeros = 0;        // before the message
    std::int64_t left = 0;         // of both
    std::int64_t ahead = 0;        // lost samples that the peer already has; negative: zeros still due
  };
  void serve_delay() noexcept;
  void take_over();
  bool serve(const std::byte* samples, std::int64_t count, double patience_s);
  bool wait_for_question(double patience_s);
  void answer(Line& line, const std::byte* samples, std::int64_t count);
  void keep_in_step();

  SinkSettings settings_;
  std::size_t size_;       // per sample
  double rate_hz_;         // of the port
  double source_rate_hz_;  // rate in which gaps are counted
  std::int64_t most_;      // samples per answer
  std::vector<std::byte> zeros_;
  std::deque<Line> lines_;
  std::vector<zmq_pollitem_t> polled_;
  bool began_ = false;
  bool patient_ = true;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> first_is_here_{false};
  std::thread early_;  // owns the lines until it is joined
};

}  // namespace iqd::radio::zmq
