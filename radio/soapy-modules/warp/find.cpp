// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <SoapySDR/Logger.hpp>
#include <algorithm>
#include <map>
#include <span>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/places.hpp"

namespace iqd::warp {
namespace {

constexpr std::int64_t kRoundNs = 150'000'000;
constexpr std::uint16_t kRounds = 2;
constexpr int kUsualNodes = 16;

/// Whether this host is in 10.0.0.0/24, the WARP nodes' default network. Other networks get no packets.
bool in_their_network() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return false;
  bool found = false;
  for (const ifaddrs* i = all; i; i = i->ifa_next) {
    if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP)) continue;
    found = found || ntohl(reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr) >> 8 == 0x0A'00'00;
  }
  ::freeifaddrs(all);
  return found;
}

std::string version_text(std::uint32_t version) {
  return std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 0xFF) + "." +
         std::to_string(version & 0xFF);
}

struct Found {
  Info info;
  std::string address;
};

/// Whether this answers one of our requests: other hosts talk to their nodes, too.
bool answers(const Packet& packet, std::uint16_t host, std::span<const std::uint16_t> ids, int rounds) {
  const Header& h = packet.header;
  const bool asked = std::ranges::count(ids, kBroadcast) || std::ranges::count(ids, h.source);
  return h.type == Type::to_host && h.destination == host && asked && h.sequence < rounds;
}

/// Maps the number of each node that answers to its info. A broadcast always waits until the end of the round, since
/// one more answer may come.
std::map<int, Found> ask_all(const std::vector<sockaddr_in>& addresses, const std::vector<std::uint16_t>& ids,
                             std::uint16_t host) {
  std::map<int, Found> found;
  UdpSocket socket;
  const bool everybody = std::ranges::count(ids, kBroadcast) > 0;
  const auto all = [&] { return !everybody && found.size() == ids.size(); };
  for (std::uint16_t round = 0; round < kRounds && !all(); ++round) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      socket.send_to(
          encode({ids[i], host, Type::to_node, round, kReplyWanted, static_cast<std::uint32_t>(Command::node_info)},
                 {}),
          addresses[i]);
    const std::int64_t ends = steady_ns() + kRoundNs;
    sockaddr_in from{};
    while (const auto bytes = socket.receive(ends, &from)) {
      const auto packet = decode(*bytes);
      const std::string where = text_of(from);
      if (packet && answers(*packet, host, ids, round + 1))
        if (const auto info = decode_info(words_of(*packet)))
          found[packet->header.source] = {*info, where.substr(0, where.find(':'))};
      if (all() || steady_ns() > ends) break;
    }
  }
  return found;
}

bool is_wanted(const Found& found, const SoapySDR::Kwargs& args) {
  return !args.contains("serial") || args.at("serial") == std::to_string(found.info.serial);
}

void describe(const Found& found, int id, SoapySDR::Kwargs& as) {
  as["serial"] = std::to_string(found.info.serial);
  as["version"] = version_text(found.info.version);
  as["chains"] = std::to_string(found.info.interfaces);
  as["label"] = "WARP v3 node " + std::to_string(id) + " (serial " + as["serial"] + ") at " + found.address;
}

/// The requested nodes as one device: all of them or none.
SoapySDR::KwargsList find_these(const SoapySDR::Kwargs& args) {
  const Places places = places_of({"warp", args});
  std::vector<sockaddr_in> addresses;
  std::vector<std::uint16_t> ids;
  for (const NodeOptions& n : places.nodes) {
    addresses.push_back(n.address);
    ids.push_back(n.id);
  }
  const auto found = ask_all(addresses, ids, places.nodes[0].host);
  for (const std::uint16_t id : ids)
    if (!found.contains(id)) return {};
  if (ids.size() == 1 && !is_wanted(found.at(ids[0]), args)) return {};
  SoapySDR::Kwargs as = args;
  as["driver"] = "warp";
  describe(found.at(ids[0]), ids[0], as);
  if (ids.size() > 1) {
    as["label"] = std::to_string(ids.size()) + " WARP v3 nodes: " + args.at("node");
    as.erase("serial");
  }
  return {as};
}

}  // namespace

SoapySDR::KwargsList find_nodes(const SoapySDR::Kwargs& args) {
  if (args.contains("node") || args.contains("address")) return find_these(args);
  if (!in_their_network()) {
    if (args.contains("driver"))
      SoapySDR::log(SOAPY_SDR_INFO,
                    "warp: this host has no address in 10.0.0.0/24, the network of WARP nodes; give it "
                    "10.0.0.250 or set address=");
    return {};
  }
  const Places places = places_of({"warp", args});
  std::vector<sockaddr_in> addresses{places.broadcast};
  std::vector<std::uint16_t> ids{kBroadcast};
  for (int id = 0; id < kUsualNodes; ++id) {
    addresses.push_back(endpoint("10.0.0." + std::to_string(id + 1),
                                 static_cast<std::uint16_t>(ntohs(places.nodes[0].address.sin_port) + id)));
    ids.push_back(static_cast<std::uint16_t>(id));
  }
  SoapySDR::KwargsList list;
  for (const auto& [id, found] : ask_all(addresses, ids, places.nodes[0].host)) {
    if (!is_wanted(found, args)) continue;
    SoapySDR::Kwargs as = args;
    as["driver"] = "warp";
    as["node"] = std::to_string(id);
    as["address"] = found.address;
    describe(found, id, as);
    list.push_back(as);
  }
  return list;
}

}  // namespace iqd::warp
