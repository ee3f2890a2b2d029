// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/places.hpp"

#include <arpa/inet.h>

#include <cmath>
#include <sstream>

namespace iqd::warp {
namespace {

constexpr std::int64_t kMostId = 200;
constexpr int kIpUdpBytes = 28;

/// Splits node=0/1/2.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string one; std::getline(stream, one, '/');) parts.push_back(one);
  return parts;
}

std::string usual_address(std::int64_t id) {
  return "10.0.0." + std::to_string(id + 1);
}

/// The broadcast address of the node's network. On loopback, a broadcast does not reach a socket bound to one address.
std::string usual_broadcast(const std::string& address) {
  return address.starts_with("127.") ? address : address.substr(0, address.rfind('.')) + ".255";
}

std::int64_t ns_of(const Arguments& args, const std::string& key, double otherwise, double low, double high) {
  const double seconds = args.number(key, otherwise);
  if (seconds < low || seconds > high) {
    std::ostringstream wanted;
    wanted << "expected " << low << " to " << high << " seconds";
    args.refuse(key, args.text(key, ""), wanted.str());
  }
  return std::llround(seconds * 1e9);
}

NodeOptions options_of(const Arguments& args) {
  NodeOptions o;
  o.host = static_cast<std::uint16_t>(args.count("host", 250, 0, 0xFFFE));
  o.patience_ns = ns_of(args, "timeout", 0.05, 0.001, 10);
  o.silence_ns = ns_of(args, "silence", 2, 0.01, 100);
  const auto mtu = args.count("mtu", 1500, 576, 9000);
  o.samples_a_packet = static_cast<std::uint32_t>(
      (mtu - kIpUdpBytes - static_cast<std::int64_t>(kHeaderBytes + kSampleHeaderBytes)) / 4);
  o.rate_hz = args.number("rate", 40e6);
  if (o.rate_hz < 1e3 || o.rate_hz > 40e6) args.refuse("rate", args.text("rate", ""), "expected 1e3 to 40e6");
  return o;
}

}  // namespace

Places places_of(const Arguments& args) {
  const std::vector<std::string> ids = parts_of(args.text("node", "0"));
  const std::vector<std::string> addresses = parts_of(args.text("address", ""));
  if (ids.empty()) args.refuse("node", args.text("node", ""), "expected a node number, or several with / between");
  if (addresses.size() > 1 && addresses.size() != ids.size())
    args.refuse("address", args.text("address", ""), "expected one for all nodes, or one for each, separated by /");
  const auto port = args.count("port", 9000, 1, 65535 - kMostId);
  Places places;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    NodeOptions o = options_of(args);
    o.id = static_cast<std::uint16_t>(Arguments("warp", {{"node", ids[i]}}).count("node", 0, 0, kMostId));
    for (const NodeOptions& other : places.nodes)
      if (other.id == o.id) args.refuse("node", args.text("node", ""), "a node is listed twice");
    const std::string address = addresses.empty()      ? usual_address(o.id)
                                : addresses.size() > 1 ? addresses[i]
                                                       : addresses[0];
    o.address = endpoint(address, static_cast<std::uint16_t>(port + o.id));
    places.nodes.push_back(o);
    if (i == 0)
      places.broadcast = endpoint(args.text("broadcast", usual_broadcast(address)),
                                  static_cast<std::uint16_t>(args.count("trigger_port", 10000, 1, 65535)));
  }
  places.trigger.address = places.broadcast;
  places.trigger.host = places.nodes[0].host;
  places.trigger.id = 1u << args.count("trigger", 0, 0, 31);
  return places;
}

}  // namespace iqd::warp
