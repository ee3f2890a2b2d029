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
#include "radio/soapy-modules/warp/claim.hpp"
#include "radio/soapy-modules/warp/guard.hpp"
#include "radio/soapy-modules/warp/node.hpp"
#include "radio/soapy-modules/warp/places.hpp"
#include "radio/soapy-modules/warp/receiver.hpp"
#include "radio/soapy-modules/warp/transmitter.hpp"

namespace iqd::warp {

enum class Format : std::uint8_t { cf32, cs16 };

/// One stream of one direction; a device has at most one of each.
struct Stream {
  int direction = 0;
  Format format = Format::cs16;
  std::vector<std::size_t> channels;
  bool open = false;
  bool active = false;
};

/// One node, or several with one trigger. Its channels are the RF chains, A first, of the nodes in their order. The two
/// directions may be used by two threads.
///
/// Nodes are only asked what they are until somebody sets something or opens a stream: looking at a node that another
/// program uses does not disturb it.
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

  // What the RF chains are set to (device_front_end.cpp).
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

  /// The host's, since a node has none that can be read: time stamps are when the host's trigger left.
  bool hasHardwareTime(const std::string& what) const override { return what.empty(); }
  long long getHardwareTime(const std::string& what) const override;

  // What else there is to know and to do (device.cpp).
  std::vector<std::string> listSensors() const override;
  SoapySDR::ArgInfo getSensorInfo(const std::string& name) const override;
  std::string readSensor(const std::string& name) const override;
  SoapySDR::ArgInfoList getSettingInfo() const override;
  void writeSetting(const std::string& name, const std::string& value) override;
  std::string readSetting(const std::string& name) const override;

 private:
  /// What a chain is set to, as numbers on the wire.
  struct FrontEnd {
    double hz = 2.412e9;
    std::uint32_t tx_baseband = 3, tx_rf = 0, tx_low_pass = 3;
    std::uint32_t rx_rf = 1, rx_baseband = 0, rx_low_pass = 3;
    bool automatic = false;
  };
  const Chain& chain(std::size_t channel) const;
  FrontEnd& front_end(std::size_t channel);
  const FrontEnd& front_end(std::size_t channel) const;
  void prepare();
  void set_channel(std::size_t channel);
  void set_tx_gains(std::size_t channel);
  void set_rx_gains(std::size_t channel);
  void set_low_pass(int direction, std::size_t channel);
  void ask_all(const std::string& command);

  std::vector<Chain> chains_of(const Stream& stream) const;
  void set_up_receiver(const Arguments& args);
  void set_up_transmitter(const Arguments& args);
  std::uint32_t length_of(const Arguments& args, std::uint32_t Info::*most) const;
  void start_transmitter();
  void stay_alive();
  std::vector<Guard::Words> last_words() const;
  int read(void* const* buffers, std::size_t samples, int& flags, long long& time_ns, std::int64_t deadline_ns);

  Arguments args_;
  Places places_;
  double rate_hz_;
  std::int64_t watchdog_ns_;
  Trigger trigger_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Claim>> claims_;  // of nodes that it sets
  std::vector<Info> infos_;
  std::vector<Chain> chains_;
  std::vector<FrontEnd> front_ends_;
  std::string answer_;  // to the last setting `ask`

  mutable std::recursive_mutex mutex_;  // settings and the life of streams
  bool prepared_ = false;
  Stream rx_, tx_;
  std::unique_ptr<Receiver> receiver_;
  std::unique_ptr<Transmitter> transmitter_;
  std::unique_ptr<Guard> guard_;
};

}  // namespace iqd::warp
