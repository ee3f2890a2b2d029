// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/device.hpp"

#include <SoapySDR/Logger.hpp>
#include <array>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "base/clock.hpp"

namespace iqd::warp {
namespace {

constexpr std::uint8_t kHardware = 3;

void check_known(const Arguments& args) {
  const auto key = args.unknown(
      {"driver",  "label", "serial", "version", "chains",  "node", "address",  "port",     "broadcast", "trigger_port",
       "trigger", "host",  "mtu",    "timeout", "silence", "rate", "watchdog", "tx_delay", "configure", "initialise"});
  if (key) SoapySDR::log(SOAPY_SDR_WARNING, "warp: the device argument '" + *key + "' is unknown and has no effect");
}

/// Assigns `node` to the unnumbered node with this serial number.
void configure(const Places& places, std::uint32_t serial) {
  const NodeOptions& node = places.nodes[0];
  UdpSocket socket;
  socket.send_to(
      encode({kBroadcast, node.host, Type::to_node, 0, 0, static_cast<std::uint32_t>(Command::node_configure)},
             {serial, node.id, ntohl(node.address.sin_addr.s_addr)}),
      places.broadcast);
}

/// With several nodes, `serial` matches one of them and says nothing about the others.
void check_serial(const Arguments& args, const Info& info, const std::string& name) {
  const std::string said = std::to_string(info.serial);
  if (args.text("node", "").find('/') == std::string::npos && args.text("serial", said) != said)
    throw std::invalid_argument("warp: no node has the serial number " + args.text("serial", "") + "; " + name +
                                " has " + said);
}

constexpr std::array kCounts{"captures",    "lost_triggers", "bursts",        "skipped",
                             "asked_again", "not_ready",     "written_again", "ignored"};

}  // namespace

Device::Device(const SoapySDR::Kwargs& args)
    : args_("warp", args),
      places_(places_of(args_)),
      rate_hz_(places_.nodes[0].rate_hz),
      watchdog_ns_(std::llround(args_.number("watchdog", 5) * 1e9)),
      trigger_(places_.trigger) {
  check_known(args_);
  if (watchdog_ns_ < 100'000'000 || watchdog_ns_ > 3600'000'000'000)
    args_.refuse("watchdog", args_.text("watchdog", ""), "expected 0.1 to 3600 seconds");
  if (const auto serial = args_.count("configure", 0, 0, 0xFFFFFFFF))
    configure(places_, static_cast<std::uint32_t>(serial));
  for (const NodeOptions& o : places_.nodes) {
    const auto& [node, info] = nodes_.add(o);
    check_serial(args_, info, node->name());
    if (info.hardware != kHardware)
      SoapySDR::logf(SOAPY_SDR_WARNING, "warp: %s reports hardware %d, not a WARP v3", node->name().c_str(),
                     info.hardware);
    for (std::size_t c = 0; c < info.interfaces; ++c) chains_.emplace_back(Chain{node.get(), c});
  }
}

Device::~Device() {
  for (Stream* s : {&rx_, &tx_})
    if (s->open) closeStream(reinterpret_cast<SoapySDR::Stream*>(s));
}

SoapySDR::Kwargs Device::getHardwareInfo() const {
  return nodes_.hardware_info();
}

const RfChain& Device::chain(std::size_t channel) const {
  if (channel >= chains_.size())
    throw std::out_of_range("warp: channel " + std::to_string(channel) + " of " + std::to_string(chains_.size()));
  return chains_[channel];
}
RfChain& Device::chain(std::size_t channel) {
  return const_cast<RfChain&>(static_cast<const Device*>(this)->chain(channel));
}

SoapySDR::Kwargs Device::getChannelInfo(int, std::size_t channel) const {
  const Chain& c = chain(channel).chain();
  return {{"node", std::to_string(c.node->options().id)}, {"rf", std::string(1, static_cast<char>('A' + c.number))}};
}

void Device::setAntenna(int, std::size_t channel, const std::string& name) {
  chain(channel);
  if (name != "RF") throw std::invalid_argument("warp: no antenna " + name + "; each channel has only RF");
}

/// Claims the nodes, and initialises them before the first setting.
void Device::prepare() {
  const std::lock_guard lock(mutex_);
  if (prepared_) return;
  nodes_.claim();
  const bool initialise = args_.flag("initialise", true);
  const auto tx_delay = static_cast<std::uint32_t>(args_.count("tx_delay", 0, 0, 0xFFFFFFFF));
  nodes_.set_up({initialise, trigger_.id(), tx_delay});
  prepared_ = true;
  for (const RfChain& c : chains_) c.send_all();
}

long long Device::getHardwareTime(const std::string&) const {
  return wall_ns();
}

std::vector<std::string> Device::listSensors() const {
  std::vector<std::string> names{"temperature"};
  names.insert(names.end(), kCounts.begin(), kCounts.end());
  return names;
}

SoapySDR::ArgInfo Device::getSensorInfo(const std::string& name) const {
  SoapySDR::ArgInfo info;
  info.key = name;
  info.type = name == "temperature" ? SoapySDR::ArgInfo::FLOAT : SoapySDR::ArgInfo::INT;
  if (name == "temperature") info.units = "degree Celsius";
  return info;
}

std::string Device::readSensor(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (name == "temperature") {
    std::ostringstream text;
    text << std::round(nodes_.celsius() * 10) / 10;
    return text.str();
  }
  if (name == "captures") return std::to_string(receiver_ ? receiver_->captures() : 0);
  if (name == "lost_triggers") return std::to_string(receiver_ ? receiver_->lost_triggers() : 0);
  if (name == "bursts") return std::to_string(transmitter_ ? transmitter_->transmitter().bursts() : 0);
  if (name == "skipped") return std::to_string(transmitter_ ? transmitter_->transmitter().skipped() : 0);
  if (name == "asked_again") return std::to_string(nodes_.sum(&NodeCounts::asked_again));
  if (name == "not_ready") return std::to_string(nodes_.sum(&NodeCounts::not_ready));
  if (name == "written_again") return std::to_string(nodes_.sum(&NodeCounts::written_again));
  if (name == "ignored") return std::to_string(nodes_.sum(&NodeCounts::ignored));
  return "0";
}

SoapySDR::ArgInfoList Device::getSettingInfo() const {
  SoapySDR::ArgInfo identify;
  identify.key = "identify";
  identify.description = "makes the nodes show which they are; the value is ignored";
  SoapySDR::ArgInfo ask;
  ask.key = "ask";
  ask.description = "sends a command to all nodes, as numbers: 0x40000004 1 1. Read this setting for the answers";
  return {identify, ask};
}

void Device::writeSetting(const std::string& name, const std::string& value) {
  const std::lock_guard lock(mutex_);
  if (name == "identify")
    nodes_.identify();
  else if (name == "ask")
    ask_all(value);
  else
    throw std::invalid_argument("warp: no setting " + name + "; known: identify, ask");
}

void Device::ask_all(const std::string& command) {
  Words words;
  std::istringstream in(command);
  for (std::string one; in >> one;) {
    std::size_t end = 0;
    const unsigned long word = std::stoul(one, &end, 0);
    if (end != one.size() || word > 0xFFFFFFFF) throw std::invalid_argument("warp: ask: " + one + " is no 32-bit word");
    words.push_back(static_cast<std::uint32_t>(word));
  }
  if (words.empty()) throw std::invalid_argument("warp: ask: expected a command and its words");
  prepare();
  answer_ = nodes_.ask(words);
}

std::string Device::readSetting(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return name == "ask" ? answer_ : "";
}

}  // namespace iqd::warp
