// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/node/node_group.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

#include "base/clock.hpp"

namespace iqd::warp {
namespace {

/// The length set in a node until a stream sets another. A restarted node has other lengths, which reveals the restart.
constexpr std::uint32_t kNoLength = 1;

/// From the register of the FPGA's converter, whose upper ten bits are kelvins times 1024 / 503.975.
double celsius_of(std::uint32_t raw) {
  return raw / 65536.0 * 503.975 - 273.15;
}

}  // namespace

const NodeGroup::Member& NodeGroup::add(const NodeOptions& options) {
  Member& added = members_.emplace_back(Member{std::make_unique<Node>(options), {}});
  added.info = added.node->info();
  return added;
}

void NodeGroup::claim() {
  if (!claims_.empty()) return;
  std::vector<std::unique_ptr<Claim>> claims;
  for (const Member& m : members_) claims.push_back(std::make_unique<Claim>(*m.node));
  claims_ = std::move(claims);
}

void NodeGroup::set_up(const Setup& setup) {
  for (const Member& m : members_) {
    if (setup.initialise) m.node->ask(Command::node_initialise, {});
    m.node->ask(Command::trigger_add, {setup.trigger});
    m.node->ask(Command::tx_delay, {setup.tx_delay});
    for (const Command length : {Command::tx_length, Command::rx_length}) m.node->ask(length, {kNoLength});
    m.node->info();
  }
}

void NodeGroup::identify() {
  for (const Member& m : members_) m.node->ask(Command::node_identify, {});
}

std::string NodeGroup::ask(std::span<const std::uint32_t> command) {
  std::ostringstream said;
  for (const auto& [node, info] : members_) {
    const auto answer = node->ask(Command{command[0]}, command.subspan(1), steady_ns() + node->options().silence_ns);
    if (!answer) throw NodeSilent("warp: " + node->name() + " does not answer this command");
    said << (said.str().empty() ? "" : "; ") << node->options().id << ":" << std::hex << std::showbase;
    for (const std::uint32_t word : *answer) said << " " << word;
    said << std::dec << std::noshowbase;
  }
  return said.str();
}

double NodeGroup::celsius() const {
  double highest = celsius_of(0);
  for (const Member& m : members_)
    if (const Words said = m.node->ask(Command::node_temperature, {}); !said.empty())
      highest = std::max(highest, celsius_of(said[0]));
  return highest;
}

std::uint64_t NodeGroup::sum(std::atomic<std::uint64_t> NodeCounts::*count) const {
  std::uint64_t sum = 0;
  for (const Member& m : members_) sum += m.node->counts().*count;
  return sum;
}

std::uint32_t NodeGroup::least(std::uint32_t Info::*field) const {
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const Member& m : members_) least = std::min(least, m.info.*field);
  return least;
}

SoapySDR::Kwargs NodeGroup::hardware_info() const {
  SoapySDR::Kwargs about;
  for (const auto& [node, info] : members_) {
    const std::string prefix = "node" + std::to_string(node->options().id) + "_";
    about[prefix + "at"] = text_of(node->options().address);
    about[prefix + "serial"] = std::to_string(info.serial);
    about[prefix + "firmware"] = std::to_string(info.version >> 16) + "." + std::to_string(info.version >> 8 & 0xFF) +
                                 "." + std::to_string(info.version & 0xFF);
    about[prefix + "most_samples"] = std::to_string(info.most_rx) + " rx, " + std::to_string(info.most_tx) + " tx";
  }
  return about;
}

}  // namespace iqd::warp
