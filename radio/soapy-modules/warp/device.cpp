// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/device.hpp"

#include <SoapySDR/Logger.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/front_end.hpp"

namespace iqd::warp {
namespace {

constexpr std::uint8_t kHardware = 3;
/// What a node is told before a stream says otherwise. A node that was restarted has others, and is known by that.
constexpr std::uint32_t kNoLength = 1;

void check_known(const Arguments& args) {
  const auto key = args.unknown(
      {"driver",  "label", "serial", "version", "chains",  "node", "address",  "port",     "broadcast", "trigger_port",
       "trigger", "host",  "mtu",    "timeout", "silence", "rate", "watchdog", "tx_delay", "configure", "initialise"});
  if (key) SoapySDR::log(SOAPY_SDR_WARNING, "warp: the device argument '" + *key + "' is not known and does nothing");
}

/// Gives a node without a number the one that it is to have.
void configure(const Places& places, std::uint32_t serial) {
  const NodeOptions& node = places.nodes[0];
  UdpSocket socket;
  socket.send_to(
      encode({kBroadcast, node.host, Type::to_node, 0, 0, static_cast<std::uint32_t>(Command::node_configure)},
             {serial, node.id, ntohl(node.address.sin_addr.s_addr)}),
      places.broadcast);
}

/// Of several nodes one has it, and says nothing of the others.
void check_serial(const Arguments& args, const Info& info, const std::string& name) {
  const std::string said = std::to_string(info.serial);
  if (args.text("node", "").find('/') == std::string::npos && args.text("serial", said) != said)
    throw std::invalid_argument("warp: no node has the serial number " + args.text("serial", "") + "; " + name +
                                " has " + said);
}

/// Of the converter in the board's FPGA, whose register's upper ten bits are kelvins times 1024 / 503.975.
double celsius(std::uint32_t raw) {
  return raw / 65536.0 * 503.975 - 273.15;
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
    args_.refuse("watchdog", args_.text("watchdog", ""), "0.1 to 3600 seconds are wanted");
  if (const auto serial = args_.count("configure", 0, 0, 0xFFFFFFFF))
    configure(places_, static_cast<std::uint32_t>(serial));
  for (const NodeOptions& o : places_.nodes) {
    auto& node = *nodes_.emplace_back(std::make_unique<Node>(o));
    const Info info = infos_.emplace_back(node.info());
    check_serial(args_, info, node.name());
    if (info.hardware != kHardware)
      SoapySDR::logf(SOAPY_SDR_WARNING, "warp: %s says that it is no WARP v3, but hardware %d", node.name().c_str(),
                     info.hardware);
    for (std::size_t c = 0; c < info.interfaces; ++c) chains_.push_back({&node, c});
  }
  front_ends_.resize(chains_.size());
}

Device::~Device() {
  for (Stream* s : {&rx_, &tx_})
    if (s->open) closeStream(reinterpret_cast<SoapySDR::Stream*>(s));
}

SoapySDR::Kwargs Device::getHardwareInfo() const {
  SoapySDR::Kwargs about;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Info& info = infos_[i];
    const std::string prefix = "node" + std::to_string(nodes_[i]->options().id) + "_";
    about[prefix + "at"] = text_of(nodes_[i]->options().address);
    about[prefix + "serial"] = std::to_string(info.serial);
    about[prefix + "firmware"] = std::to_string(info.version >> 16) + "." + std::to_string(info.version >> 8 & 0xFF) +
                                 "." + std::to_string(info.version & 0xFF);
    about[prefix + "most_samples"] = std::to_string(info.most_rx) + " rx, " + std::to_string(info.most_tx) + " tx";
  }
  return about;
}

const Chain& Device::chain(std::size_t channel) const {
  if (channel >= chains_.size())
    throw std::out_of_range("warp: channel " + std::to_string(channel) + " of " + std::to_string(chains_.size()));
  return chains_[channel];
}
Device::FrontEnd& Device::front_end(std::size_t channel) {
  chain(channel);
  return front_ends_[channel];
}
const Device::FrontEnd& Device::front_end(std::size_t channel) const {
  chain(channel);
  return front_ends_[channel];
}

SoapySDR::Kwargs Device::getChannelInfo(int, std::size_t channel) const {
  const Chain& c = chain(channel);
  return {{"node", std::to_string(c.node->options().id)}, {"rf", std::string(1, static_cast<char>('A' + c.number))}};
}

void Device::setAntenna(int, std::size_t channel, const std::string& name) {
  chain(channel);
  if (name != "RF") throw std::invalid_argument("warp: there is no antenna " + name + "; each channel has one, RF");
}

/// Makes a node what this device says that it is, before the first thing is set.
void Device::prepare() {
  const std::lock_guard lock(mutex_);
  if (prepared_) return;
  if (claims_.empty()) {
    std::vector<std::unique_ptr<Claim>> claims;  // all or none
    for (const auto& node : nodes_) claims.push_back(std::make_unique<Claim>(*node));
    claims_ = std::move(claims);
  }
  const bool initialise = args_.flag("initialise", true);
  const auto tx_delay = static_cast<std::uint32_t>(args_.count("tx_delay", 0, 0, 0xFFFFFFFF));
  for (const auto& node : nodes_) {
    if (initialise) node->ask(Command::node_initialise, {});
    node->ask(Command::trigger_add, {trigger_.id()});
    node->ask(Command::tx_delay, {tx_delay});
    for (const Command length : {Command::tx_length, Command::rx_length}) node->ask(length, {kNoLength});
    node->info();
  }
  prepared_ = true;
  for (std::size_t c = 0; c < chains_.size(); ++c) {
    set_channel(c);
    set_tx_gains(c);
    set_rx_gains(c);
    set_low_pass(SOAPY_SDR_TX, c);
    set_low_pass(SOAPY_SDR_RX, c);
    chains_[c].node->ask(Command::gain_control, {rf_select(chains_[c].number), 0});
  }
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
    double highest = celsius(0);
    for (const auto& node : nodes_)
      if (const Words said = node->ask(Command::node_temperature, {}); !said.empty())
        highest = std::max(highest, celsius(said[0]));
    std::ostringstream text;
    text << std::round(highest * 10) / 10;
    return text.str();
  }
  if (name == "captures") return std::to_string(receiver_ ? receiver_->captures() : 0);
  if (name == "lost_triggers") return std::to_string(receiver_ ? receiver_->lost_triggers() : 0);
  if (name == "bursts") return std::to_string(transmitter_ ? transmitter_->bursts() : 0);
  if (name == "skipped") return std::to_string(transmitter_ ? transmitter_->skipped() : 0);
  std::uint64_t sum = 0;
  for (const auto& node : nodes_) {
    const NodeCounts& counts = node->counts();
    if (name == "asked_again") sum += counts.asked_again;
    if (name == "not_ready") sum += counts.not_ready;
    if (name == "written_again") sum += counts.written_again;
    if (name == "ignored") sum += counts.ignored;
  }
  return std::to_string(sum);
}

SoapySDR::ArgInfoList Device::getSettingInfo() const {
  SoapySDR::ArgInfo identify;
  identify.key = "identify";
  identify.description = "has the nodes show which they are, whatever is written";
  SoapySDR::ArgInfo ask;
  ask.key = "ask";
  ask.description = "a command for all nodes, as numbers: 0x40000004 1 1. Read it for what they answered";
  return {identify, ask};
}

void Device::writeSetting(const std::string& name, const std::string& value) {
  const std::lock_guard lock(mutex_);
  if (name == "identify")
    for (const auto& node : nodes_) node->ask(Command::node_identify, {});
  else if (name == "ask")
    ask_all(value);
  else
    throw std::invalid_argument("warp: there is no setting " + name + "; there are identify and ask");
}

void Device::ask_all(const std::string& command) {
  Words words;
  std::istringstream in(command);
  for (std::string one; in >> one;) {
    std::size_t end = 0;
    const unsigned long word = std::stoul(one, &end, 0);
    if (end != one.size() || word > 0xFFFFFFFF) throw std::invalid_argument("warp: ask: '" + one + "' is no word");
    words.push_back(static_cast<std::uint32_t>(word));
  }
  if (words.empty()) throw std::invalid_argument("warp: ask: a command is wanted, and the words that go with it");
  prepare();
  std::ostringstream said;
  for (const auto& node : nodes_) {
    const auto answer =
        node->ask(Command{words[0]}, std::span(words).subspan(1), steady_ns() + node->options().silence_ns);
    if (!answer) throw NodeSilent("warp: " + node->name() + " does not answer that");
    said << (said.str().empty() ? "" : "; ") << node->options().id << ":" << std::hex << std::showbase;
    for (const std::uint32_t word : *answer) said << " " << word;
    said << std::dec << std::noshowbase;
  }
  answer_ = said.str();
}

std::string Device::readSetting(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return name == "ask" ? answer_ : "";
}

}  // namespace iqd::warp
