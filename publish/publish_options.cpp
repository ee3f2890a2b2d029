// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "publish/publish_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/integer.hpp"
#include "net/endpoint.hpp"
#include "net/socket_need.hpp"
#include "publish/zmq_outlet.hpp"

namespace iqd::publish {
namespace {

class Options final : public OutletOptions {
 public:
  void fields(FieldVisitor& v) override { config_.fields(v); }
  void check(const PortFormat&, const Section& section) const override;
  std::string endpoint() const override { return config_.bind; }
  std::string socket() const override { return config_.endpoint(); }
  std::string topic() const override { return config_.topic; }
  Needs needs(const PortFormat& format) const override;
  std::string_view clash(const OutletOptions& other) const override {
    const auto* same_kind = dynamic_cast<const Options*>(&other);
    return same_kind ? difference(same_kind->config_, config_) : std::string_view();
  }
  std::unique_ptr<Outlet> open(const PortFormat& format, bool lossless, std::int64_t most_bytes) const override {
    return make_outlet(config_, format, lossless, most_bytes);
  }

 private:
  Config config_;
};

Needs Options::needs(const PortFormat& format) const {
  // At least two messages are queued for a slow reader.
  const std::int64_t kept = std::max(config_.hwm_bytes, bounded_product<std::int64_t>(2, format.bytes(format.most())));
  return {{.what = "header of " + config_.topic, .bytes = head_bytes(config_, format)},
          net::socket_need(config_.endpoint(), static_cast<std::size_t>(kept))};
}

void Options::check(const PortFormat& format, const Section& section) const {
  if (config_.topic.find_first_of(" \t\n") != std::string::npos)
    section.problem("topic",
                    fmt::format("'{}' contains a space, which ends the topic on the wire; use . or _", config_.topic));
  else if (config_.topic.empty() && section.has("topic") && !section.is_wrong("topic"))
    section.problem("topic", "is empty: subscribers need it");
  const bool is_given = section.is_wrong("bind") || section.is_wrong("connect");
  if (config_.bind.empty() && config_.connect.empty() && !is_given)
    section.problem("", "needs either `bind:` or `connect:`, e.g. bind: \"tcp://127.0.0.1:5555\"");
  if (!config_.bind.empty() && !config_.connect.empty())
    section.problem("connect", "a socket binds or connects, not both: remove `bind:` or `connect:`");
  const std::string_view endpoint = config_.endpoint();
  if (!endpoint.empty() && !net::is_endpoint(endpoint))
    section.problem(config_.bind.empty() ? "connect" : "bind",
                    fmt::format("'{}' is not an endpoint such as tcp://host:port or ipc://path", endpoint));
  if (!endpoint.empty()) config_.access.check(config_.endpoint(), !config_.bind.empty(), section);
  const bool plain_stream = format.dims.size() == 1 && format.varying == 0 && format.item_rate_hz > 0;
  if (config_.framing == Framing::gnuradio_tags && format.is_known() && !plain_stream)
    section.problem("framing", fmt::format("gnuradio-tags needs samples of one channel, [n]; {} is {}", format.port,
                                           to_string(format.dims)));
}

}  // namespace

std::string_view difference(const Config& a, const Config& b) {
  if (a.kind != b.kind) return "kind";
  if (a.bind != b.bind) return "bind";
  if (a.hwm_bytes != b.hwm_bytes) return "hwm_bytes";
  return a.access.same_keys(b.access) ? "" : "curve";
}

void Config::fields(FieldVisitor& v) {
  v.field("topic", topic, {.help = "first word of every message, without a space", .required = true});
  v.field("bind", bind, {.help = "endpoint to bind; subscribers connect to it"});
  v.field("connect", connect, {.help = "endpoint of a reader that binds"});
  v.field("kind", kind, {.help = "pub: to all subscribers; push: each message to one reader"});
  v.field("hwm_bytes", hwm_bytes, {.help = "queue for a slow reader", .unit = Unit::bytes, .low = 1});
  v.field("framing", framing,
          {.help = "format of the header: JSON, 64 bytes binary, or the tags of GNU Radio's ZeroMQ blocks"});
  access.fields(v);
}

std::unique_ptr<OutletOptions> make_options() {
  return std::make_unique<Options>();
}

}  // namespace iqd::publish
