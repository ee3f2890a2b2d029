// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "publish/zmq_outlet.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/wire.hpp"
#include "publish/zmq_socket.hpp"

namespace iqd::publish {

std::size_t head_bytes(const Config& config, const PortFormat& format) {
  switch (config.framing) {
    case Framing::compact: return config.topic.size() + 1 + kStructHeaderBytes;
    case Framing::gnuradio_tags: return gnuradio_header_bound(format);
    case Framing::json: break;
  }
  return header_bound(format, config.topic.size(), static_cast<std::size_t>(format.facts), format.most());
}

namespace {

/// One topic on a socket.
class ZmqOutlet : public Outlet {
 public:
  ZmqOutlet(std::shared_ptr<ZmqSocket> socket, const Config& config, bool first)
      : socket_(std::move(socket)), topic_(config.topic), first_(first) {
    socket_->add_topic(topic_);
  }
  std::int64_t subscriptions() override { return first_ ? socket_->subscriptions() : 0; }
  PeerCounts peers() const override { return socket_->peers(); }
  void finish() override { socket_->drain(); }
  void interrupt() noexcept override { socket_->interrupt(); }

 protected:
  std::shared_ptr<ZmqSocket> socket_;
  std::string topic_;
  std::vector<char> head_;

 private:
  bool first_;
};

/// Topic and header in one frame, the payload in the other.
class HeaderOutlet final : public ZmqOutlet {
 public:
  HeaderOutlet(std::shared_ptr<ZmqSocket> socket, const Config& config, const PortFormat& format, bool first)
      : ZmqOutlet(std::move(socket), config, first), is_struct_(config.framing == Framing::compact) {
    head_.resize(head_bytes(config, format));
  }
  bool send(const Message& m, Lease lease, bool scarce) override {
    const std::size_t n = is_struct_ ? write_struct_header(m, topic_, head_) : write_header(m, topic_, head_);
    return n > 0 && socket_->send({}, {head_.data(), n}, m.payload, std::move(lease), scarce);
  }

 private:
  bool is_struct_;
};

/// For GNU Radio: a source with a key discards the first frame (only the SUB source can have one), finds the tags in
/// the next one, and takes the rest as further samples.
class GnuRadioOutlet final : public ZmqOutlet {
 public:
  GnuRadioOutlet(std::shared_ptr<ZmqSocket> socket, const Config& config, const PortFormat& format, bool first)
      : ZmqOutlet(std::move(socket), config, first), key_(config.kind == Kind::pub ? topic_ + ' ' : "") {
    head_.resize(head_bytes(config, format));
  }
  bool send(const Message& m, Lease lease, bool scarce) override {
    // Repeated, for a flowgraph that starts later.
    const bool due = static_cast<double>(m.sample - tagged_) >= m.format->rate_hz || m.frequency_hz() != tagged_hz_;
    const bool tagged = untagged_ || m.gap > 0 || due;
    const std::size_t n = write_gnuradio_header(m, tagged, head_);
    const auto rest = m.payload.subspan(std::min(m.payload.size(), size_of(m.format->element)));
    const bool sent = n > 0 && socket_->send(key_, {head_.data(), n}, rest, std::move(lease), scarce);
    if (sent && tagged) tagged_ = m.sample, tagged_hz_ = m.frequency_hz();
    untagged_ = !sent;  // samples lost here are a gap in the published stream
    return sent;
  }

 private:
  std::string key_;
  SampleIndex tagged_ = 0;
  double tagged_hz_ = 0;
  bool untagged_ = true;
};

}  // namespace

std::unique_ptr<Outlet> make_outlet(const Config& config, const PortFormat& format, bool lossless,
                                    std::int64_t most_bytes) {
  auto socket = ZmqSocket::shared(format.pipeline, config, lossless, most_bytes);
  const bool first = socket.use_count() == 1;
  if (config.framing == Framing::gnuradio_tags)
    return std::make_unique<GnuRadioOutlet>(std::move(socket), config, format, first);
  return std::make_unique<HeaderOutlet>(std::move(socket), config, format, first);
}

}  // namespace iqd::publish
