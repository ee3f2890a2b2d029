// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The plug-in as a Soapy program sees it, with simulated nodes at the other end.
#include <gmock/gmock.h>

#include "radio/soapy-modules/warp/rig_for_test.hpp"

namespace iqd::warp {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kChannel = 0x20000004, kTxGains = 0x20000005, kRxGains = 0x20000006;

TEST(Warp, IsFoundAndSaysWhatItIs) {
  warp_node::Options o;
  o.serial = 42;
  o.chains = 2;
  Rig rig(o);
  const auto found = SoapySDR::Device::enumerate(rig.args);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].at("serial"), "42");
  EXPECT_EQ(found[0].at("version"), "7.5.0");
  EXPECT_THAT(found[0].at("label"), AllOf(HasSubstr("node 0"), HasSubstr("127.0.0.1")));
  EXPECT_EQ(rig.device->getNumChannels(SOAPY_SDR_RX), 2u);
  EXPECT_EQ(rig.device->getNumChannels(SOAPY_SDR_TX), 2u);
  EXPECT_EQ(rig.device->getSampleRate(SOAPY_SDR_RX, 0), 40e6);
  EXPECT_EQ(rig.device->getHardwareInfo().at("node0_serial"), "42");
  EXPECT_EQ(rig.device->getHardwareInfo().at("node0_firmware"), "7.5.0");
  EXPECT_EQ(rig.node().times(1), 0) << "looking at a node does not initialise it";
  EXPECT_TRUE(SoapySDR::Device::enumerate("driver=warp,address=127.0.0.1,port=1").empty());
}

TEST(Warp, FrequencyGainsAndFiltersReachTheNode) {
  Rig rig;
  rig.device->setFrequency(SOAPY_SDR_RX, 2, 5.18e9);
  EXPECT_THAT(*rig.node().last(kChannel), ElementsAre(0x40000000, 1, 1));
  EXPECT_EQ(rig.device->getFrequency(SOAPY_SDR_TX, 2), 5.18e9) << "a chain has one synthesizer";
  rig.device->setFrequency(SOAPY_SDR_TX, 0, "RF", 2.462e9);
  EXPECT_THAT(*rig.node().last(kChannel), ElementsAre(0x10000000, 0, 11));
  const int before = rig.node().times(kChannel);
  EXPECT_THAT(refusal([&] { rig.device->setFrequency(SOAPY_SDR_RX, 0, 2.45e9); }),
              AllOf(HasSubstr("2447 MHz"), HasSubstr("2452 MHz")));
  EXPECT_EQ(rig.node().times(kChannel), before);
  EXPECT_EQ(rig.device->getFrequency(SOAPY_SDR_RX, 0), 2.462e9);

  rig.device->setGain(SOAPY_SDR_RX, 1, 40);
  EXPECT_THAT(*rig.node().last(kRxGains), ElementsAre(0x20000000, 3, 5)) << "30 dB of RF and 5 steps of 63/31 dB";
  EXPECT_NEAR(rig.device->getGain(SOAPY_SDR_RX, 1), 40, 1.1);
  rig.device->setGain(SOAPY_SDR_RX, 1, 20);
  EXPECT_THAT(*rig.node().last(kRxGains), ElementsAre(0x20000000, 2, 2)) << "15 dB of RF";
  rig.device->setGain(SOAPY_SDR_TX, 3, 31);
  EXPECT_THAT(*rig.node().last(kTxGains), ElementsAre(0x80000000, 3, 63));
  rig.device->setGain(SOAPY_SDR_TX, 3, -3);
  EXPECT_THAT(*rig.node().last(kTxGains), ElementsAre(0x80000000, 1, 0));
  EXPECT_EQ(rig.device->getGain(SOAPY_SDR_TX, 3), -3);
  rig.device->setGain(SOAPY_SDR_TX, 3, "BB", -1.5);
  EXPECT_THAT(*rig.node().last(kTxGains), ElementsAre(0x80000000, 2, 0));

  rig.device->setBandwidth(SOAPY_SDR_RX, 0, 10e6);
  EXPECT_THAT(*rig.node().last(0x20000008), ElementsAre(0x10000000, 2));
  EXPECT_EQ(rig.device->getBandwidth(SOAPY_SDR_RX, 0), 14e6);
  rig.device->setBandwidth(SOAPY_SDR_TX, 0, 12e6);
  EXPECT_THAT(*rig.node().last(0x20000007), ElementsAre(0x10000000, 1));
  rig.device->setGainMode(SOAPY_SDR_RX, 0, true);
  EXPECT_THAT(*rig.node().last(0x20000009), ElementsAre(0x10000000, 1));
  EXPECT_TRUE(rig.device->getGainMode(SOAPY_SDR_RX, 0));
  EXPECT_EQ(rig.node().seen().broken, 0);
}

TEST(Warp, AChainDoesNotTransmitAndReceiveAtOnce) {
  Rig rig;
  rig.receive({}, {0, 1});
  EXPECT_THAT(refusal([&] { rig.device->setupStream(SOAPY_SDR_TX, "CS16", {1}); }),
              AllOf(HasSubstr("channel 1"), HasSubstr("cannot transmit and receive at once")));
  EXPECT_THAT(refusal([&] { rig.device->setupStream(SOAPY_SDR_RX, "CS16", {2}); }), HasSubstr("in use"));
}

TEST(Warp, WhatIsWrongIsRefusedByName) {
  Rig rig;
  for (const std::string bad : {"node=x", "address=nowhere", "port=0", "mtu=100", "rate=1", "timeout=0", "trigger=32",
                                "watchdog=0", "node=0/0", "address=127.0.0.1/127.0.0.1"}) {
    const std::string key = bad.substr(0, bad.find('='));
    std::string args = "driver=warp,label=" + bad;
    for (const auto& [k, v] : SoapySDR::KwargsFromString(rig.args))
      if (k != key && k != "driver") args += "," + k + "=" + v;
    EXPECT_THAT(refusal([&] { SoapySDR::Device::make(args + "," + bad); }),
                HasSubstr(key == "address" ? "" : key + "="))
        << bad;
    EXPECT_NE(refusal([&] { SoapySDR::Device::make(args + "," + bad); }), "") << bad;
  }
  for (const SoapySDR::Kwargs& bad :
       {SoapySDR::Kwargs{{"length", "0"}}, {{"length", "1048577"}}, {{"trigger", "mine"}}, {{"mode", "single"}}})
    EXPECT_THAT(refusal([&] { rig.device->setupStream(SOAPY_SDR_RX, "CS16", {0}, bad); }),
                HasSubstr(bad.begin()->first));
  EXPECT_NE(refusal([&] { rig.device->setupStream(SOAPY_SDR_RX, "CS8", {0}); }), "");
  EXPECT_NE(refusal([&] { rig.device->setupStream(SOAPY_SDR_RX, "CS16", {4}); }), "");
}

/// The first device that sets something owns the node, whatever arguments the other one uses.
TEST(Warp, ANodeBelongsToOne) {
  Rig rig;
  SoapySDR::Device* other = SoapySDR::Device::make(rig.args + ",silence=1");
  rig.device->setGain(SOAPY_SDR_RX, 0, 10);
  EXPECT_THAT(refusal([&] { other->setGain(SOAPY_SDR_RX, 1, 10); }), HasSubstr("is in use"));
  EXPECT_EQ(rig.node().times(1), 1) << "it was not initialised again";
  EXPECT_NO_THROW(other->readSensor("temperature")) << "reading is open to all";
  SoapySDR::Device::unmake(rig.device);
  EXPECT_NO_THROW(other->setGain(SOAPY_SDR_RX, 1, 10));
  rig.device = other;
}

TEST(Warp, ASerialNumberIsOneNodes) {
  warp_node::Options o;
  o.serial = 42;
  Rig rig(o);
  EXPECT_EQ(SoapySDR::Device::enumerate(rig.args + ",serial=42").size(), 1u);
  EXPECT_TRUE(SoapySDR::Device::enumerate(rig.args + ",serial=43").empty());
  EXPECT_THAT(refusal([&] { SoapySDR::Device::make(rig.args + ",serial=43"); }),
              AllOf(HasSubstr("43"), HasSubstr("has 42")));
}

TEST(Warp, AskSaysWhatTheNodesAnswer) {
  Rig rig({}, "", 2);
  rig.device->writeSetting("ask", "0x00000004");
  EXPECT_EQ(rig.device->readSetting("ask"), "0: 0x9600 0x9000 0xa000; 1: 0x9600 0x9000 0xa000");
  EXPECT_NE(refusal([&] { rig.device->writeSetting("ask", "nonsense"); }), "");
  rig.device->writeSetting("identify", "");
  EXPECT_EQ(rig.node(1).times(3), 1);
  // 0x9600 / 65536 x 503.975 K
  EXPECT_NEAR(std::stod(rig.device->readSensor("temperature")), 295.297 - 273.15, 0.1);
}

TEST(Warp, ANodeWithoutANumberIsGivenOne) {
  warp_node::Options o;
  o.configured = false;
  o.serial = 300;
  Network network(Rig::all(o, 1), 0);
  load_module();
  const std::string args = "driver=warp,address=127.0.0.1,silence=0.3,node=0,port=" + std::to_string(network.port()) +
                           ",trigger_port=" + std::to_string(network.trigger_port());
  EXPECT_NE(refusal([&] { SoapySDR::Device::make(args); }), "");
  SoapySDR::Device* device = SoapySDR::Device::make(args + ",configure=300");
  EXPECT_TRUE(network.node().configured());
  EXPECT_EQ(device->getHardwareInfo().at("node0_serial"), "300");
  SoapySDR::Device::unmake(device);
}

}  // namespace
}  // namespace iqd::warp
