// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "radio/soapy-modules/arguments.hpp"
#include "radio/soapy-modules/warp/node/chain.hpp"
#include "radio/soapy-modules/warp/node/node_group.hpp"
#include "radio/soapy-modules/warp/places.hpp"
#include "radio/soapy-modules/warp/receive/receiver.hpp"
#include "radio/soapy-modules/warp/rf_chain.hpp"
#include "radio/soapy-modules/warp/stream.hpp"
#include "radio/soapy-modules/warp/transmit/guarded_transmitter.hpp"

namespace iqd::warp {

/// One node, or several with a common trigger. The channels are the RF chains of the nodes in order, A first. Two
/// threads may use the two directions.
/// Until a program sets something or opens a stream, nodes are only queried, so looking at a node does not disturb the
/// program that uses it.
class Device final : public SoapySDR::Device {
 public:
  explicit Device(const SoapySDR::Kwargs& args);
  ~Device() override;

  std::string getDriverKey() const override { return "warp"; }
  std::string getHardwareKey() const override { return "WARP v3"; }
  SoapySDR::Kwargs getHardwareInfo() const override;
  std::size_t getNumChannels(int) const override { return chains_.size(); }
  SoapySDR::Kwargs getChannelInfo(int direction, std::size_t channel) const override;
  bool getFullDuplex(int, std::size_t) const override { return false; }
  std::vector<std::string> listAntennas(int, std::size_t) const override { return {"RF"}; }
  void setAntenna(int direction, std::size_t channel, const std::string& name) override;
  std::string getAntenna(int, std::size_t) const override { return "RF"; }

  // Streams (device_stream.cpp).
  std::vector<std::string> getStreamFormats(int, std::size_t) const override { return {"CS16", "CF32"}; }
  std::string getNativeStreamFormat(int, std::size_t, double& full_scale) const override;
  SoapySDR::ArgInfoList getStreamArgsInfo(int direction, std::size_t channel) const override;
  SoapySDR::Stream* setupStream(int direction, const std::string& format, const std::vector<std::size_t>& channels,
                                const SoapySDR::Kwargs& args) override;
  void closeStream(SoapySDR::Stream* stream) override;
  std::size_t getStreamMTU(SoapySDR::Stream* stream) const override;
  int activateStream(SoapySDR::Stream* stream, int flags, long long time_ns, std::size_t samples) override;
  int deactivateStream(SoapySDR::Stream* stream, int flags, long long time_ns) override;
  int readStream(SoapySDR::Stream* stream, void* const* buffers, std::size_t samples, int& flags, long long& time_ns,
                 long timeout_us) override;
  int writeStream(SoapySDR::Stream* stream, const void* const* buffers, std::size_t samples, int& flags,
                  long long time_ns, long timeout_us) override;
  int readStreamStatus(SoapySDR::Stream* stream, std::size_t& channels, int& flags, long long& time_ns,
                       long timeout_us) override;

  // Settings of the RF chains (device_front_end.cpp).
  using SoapySDR::Device::getFrequency;
  using SoapySDR::Device::getFrequencyRange;
  using SoapySDR::Device::getGain;
  using SoapySDR::Device::getGainRange;
  using SoapySDR::Device::setFrequency;
  using SoapySDR::Device::setGain;
  std::vector<std::string> listFrequencies(int, std::size_t) const override { return {"RF"}; }
  void setFrequency(int direction, std::size_t channel, double hz, const SoapySDR::Kwargs& args) override;
  void setFrequency(int direction, std::size_t channel, const std::string& name, double hz,
                    const SoapySDR::Kwargs& args) override;
  double getFrequency(int direction, std::size_t channel) const override;
  double getFrequency(int direction, std::size_t channel, const std::string& name) const override;
  SoapySDR::RangeList getFrequencyRange(int direction, std::size_t channel) const override;
  SoapySDR::RangeList getFrequencyRange(int direction, std::size_t channel, const std::string& name) const override;
  std::vector<std::string> listGains(int direction, std::size_t channel) const override;
  void setGain(int direction, std::size_t channel, double db) override;
  void setGain(int direction, std::size_t channel, const std::string& name, double db) override;
  double getGain(int direction, std::size_t channel) const override;
  double getGain(int direction, std::size_t channel, const std::string& name) const override;
  SoapySDR::Range getGainRange(int direction, std::size_t channel) const override;
  SoapySDR::Range getGainRange(int direction, std::size_t channel, const std::string& name) const override;
  bool hasGainMode(int direction, std::size_t channel) const override;
  void setGainMode(int direction, std::size_t channel, bool automatic) override;
  bool getGainMode(int direction, std::size_t channel) const override;
  void setBandwidth(int direction, std::size_t channel, double hz) override;
  double getBandwidth(int direction, std::size_t channel) const override;
  SoapySDR::RangeList getBandwidthRange(int direction, std::size_t channel) const override;
  void setSampleRate(int direction, std::size_t channel, double hz) override;
  double getSampleRate(int, std::size_t) const override { return rate_hz_; }
  SoapySDR::RangeList getSampleRateRange(int, std::size_t) const override { return {{rate_hz_, rate_hz_}}; }

  /// Host time, because a node has no readable clock: time stamps say when the host sent the trigger.
  bool hasHardwareTime(const std::string& what) const override { return what.empty(); }
  long long getHardwareTime(const std::string& what) const override;

  // Sensors, settings and the life cycle (device.cpp).
  std::vector<std::string> listSensors() const override;
  SoapySDR::ArgInfo getSensorInfo(const std::string& name) const override;
  std::string readSensor(const std::string& name) const override;
  SoapySDR::ArgInfoList getSettingInfo() const override;
  void writeSetting(const std::string& name, const std::string& value) override;
  std::string readSetting(const std::string& name) const override;

 private:
  RfChain& chain(std::size_t channel);
  const RfChain& chain(std::size_t channel) const;
  void prepare();
  void ask_all(const std::string& command);

  std::vector<Chain> chains_of(const Stream& stream) const;
  void set_up_receiver(const Arguments& args);
  void set_up_transmitter(const Arguments& args);
  int read(void* const* buffers, std::size_t samples, int& flags, long long& time_ns, std::int64_t deadline_ns);

  Arguments args_;
  Places places_;
  double rate_hz_;
  std::int64_t watchdog_ns_;
  Trigger trigger_;
  NodeGroup nodes_;
  std::vector<RfChain> chains_;
  std::string answer_;  // to the last setting `ask`

  mutable std::recursive_mutex mutex_;  // settings and the life cycle of streams
  bool prepared_ = false;
  Stream rx_, tx_;
  std::unique_ptr<Receiver> receiver_;
  std::unique_ptr<GuardedTransmitter> transmitter_;
};

}  // namespace iqd::warp
