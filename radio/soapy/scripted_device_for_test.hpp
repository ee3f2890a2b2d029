// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>

#include <SoapySDR/Device.hpp>
#include <SoapySDR/Registry.hpp>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// For tests: a SoapySDR module, `driver=scripted`, that follows the test's script.
namespace iqd::radio::soapy::scripted {

/// The behaviour of the next device. A call that is not scripted does what a plain radio would do.
struct Script {
  std::function<int(void* const* buffers, std::size_t most, int& flags, long long& time_ns)> read;
  std::function<int(std::size_t& handle, const void** buffers, int& flags, long long& time_ns)> acquire;
  std::function<void(std::size_t handle)> release;
  std::size_t direct_buffers = 0;
  std::size_t mtu = 4096;
  std::string native = "CS16";
  double full_scale = 32768;
  std::string serial = "17";
  double granted_hz = 1e6;
  std::map<std::size_t, double> granted_of{};  // another rate for these channels
  std::function<int(std::size_t most, int flags)> write;
  bool tells_streams = false;  // record start and stop of streams, and what is written
  bool no_stream = false;
  int activated = 0;  // the result of activateStream
  bool gain_mode = false;
  std::vector<std::string> elements{"LNA", "VGA"};
  std::vector<std::string> listed_settings;
  std::map<std::string, std::string> sensors;          // of the device
  std::map<std::string, std::string> more_info;        // of its hardware
  std::map<std::string, std::string> channel_sensors;  // of receive channel 0
  // Protected by the mutex, since threads of the driver use these two while the device is open:
  std::string throws_from;  // the call with this name throws; `all`: every call
  std::vector<std::string> told;
};

inline std::mutex& mutex() {
  static std::mutex one;
  return one;
}

inline Script& script() {
  static Script one;
  return one;
}

inline void throw_from(std::string call) {
  const std::lock_guard lock(mutex());
  script().throws_from = std::move(call);
}

class Device final : public SoapySDR::Device {
 public:
  static inline std::atomic<int> alive{0};
  Device() { ++alive; }
  ~Device() override { --alive; }

  std::string getHardwareKey() const override { return "scripted radio"; }
  SoapySDR::Kwargs getHardwareInfo() const override {
    SoapySDR::Kwargs info{
        {"serial", script().serial}, {"fw_version", "1.2"}, {"fpga_version", "3"}, {"colour", "grey"}};
    info.insert(script().more_info.begin(), script().more_info.end());
    return info;
  }
  std::size_t getNumChannels(int) const override { return may("getNumChannels"), 2; }
  std::vector<std::string> getStreamFormats(int, std::size_t) const override { return {"CS16", "CF32"}; }
  std::string getNativeStreamFormat(int, std::size_t, double& full_scale) const override {
    full_scale = script().full_scale;
    return may("getNativeStreamFormat"), script().native;
  }
  SoapySDR::Stream* setupStream(int, const std::string&, const std::vector<std::size_t>&,
                                const SoapySDR::Kwargs&) override {
    return may("setupStream"), script().no_stream ? nullptr : reinterpret_cast<SoapySDR::Stream*>(this);
  }
  void closeStream(SoapySDR::Stream*) override { may("closeStream"); }
  std::size_t getStreamMTU(SoapySDR::Stream*) const override { return may("getStreamMTU"), script().mtu; }
  int activateStream(SoapySDR::Stream*, int, long long, std::size_t) override {
    may("activateStream");
    if (script().tells_streams) tell("on");
    return script().activated;
  }
  int deactivateStream(SoapySDR::Stream*, int, long long) override {
    may("deactivateStream");
    if (script().tells_streams) tell("off");
    return 0;
  }
  int writeStream(SoapySDR::Stream*, const void* const*, std::size_t most, int& flags, long long, long) override {
    if (script().tells_streams) tell(flags & SOAPY_SDR_END_BURST ? "end" : std::to_string(most));
    return script().write ? script().write(most, flags) : static_cast<int>(most);
  }
  int readStream(SoapySDR::Stream*, void* const* buffers, std::size_t most, int& flags, long long& time_ns,
                 long) override {
    may("readStream");
    return script().read ? script().read(buffers, most, flags, time_ns) : SOAPY_SDR_TIMEOUT;
  }
  std::size_t getNumDirectAccessBuffers(SoapySDR::Stream*) override {
    return may("getNumDirectAccessBuffers"), script().direct_buffers;
  }
  int acquireReadBuffer(SoapySDR::Stream*, std::size_t& handle, const void** buffers, int& flags, long long& time_ns,
                        long) override {
    may("acquireReadBuffer");
    return script().acquire ? script().acquire(handle, buffers, flags, time_ns) : SOAPY_SDR_TIMEOUT;
  }
  void releaseReadBuffer(SoapySDR::Stream*, std::size_t handle) override {
    may("releaseReadBuffer");
    if (script().release) script().release(handle);
  }

  using SoapySDR::Device::getGainRange;
  using SoapySDR::Device::setGain;
  std::vector<std::string> listGains(int, std::size_t) const override { return script().elements; }
  SoapySDR::Range getGainRange(int, std::size_t, const std::string&) const override { return {0, 40}; }
  bool hasGainMode(int, std::size_t) const override { return may("hasGainMode"), script().gain_mode; }
  void setGainMode(int, std::size_t, bool automatic) override { tell(automatic ? "agc on" : "agc off"); }
  void setGain(int, std::size_t, double db) override {
    may("setGain");
    tell("gain " + std::to_string(static_cast<int>(db)));
  }
  using SoapySDR::Device::getFrequency;
  double getFrequency(int, std::size_t) const override { return may("getFrequency"), 0; }
  void setGain(int, std::size_t channel, const std::string& name, double db) override {
    tell(name + std::to_string(channel) + " " + std::to_string(static_cast<int>(db)));
  }
  double getSampleRate(int, std::size_t channel) const override {
    may("getSampleRate");
    return script().granted_of.contains(channel) ? script().granted_of.at(channel) : script().granted_hz;
  }

  SoapySDR::ArgInfoList getSettingInfo() const override {
    SoapySDR::ArgInfoList list;
    for (const std::string& key : script().listed_settings) list.emplace_back().key = key;
    return list;
  }
  void writeSetting(const std::string& key, const std::string& value) override { tell(key + "=" + value); }

  std::vector<std::string> listSensors() const override { return may("listSensors"), keys(script().sensors); }
  std::string readSensor(const std::string& key) const override { return script().sensors.at(key); }
  std::vector<std::string> listSensors(int direction, std::size_t channel) const override {
    return direction == SOAPY_SDR_RX && channel == 0 ? keys(script().channel_sensors) : std::vector<std::string>{};
  }
  std::string readSensor(int, std::size_t, const std::string& key) const override {
    return script().channel_sensors.at(key);
  }

 private:
  static void may(const std::string& call) {
    const std::lock_guard lock(mutex());
    if (script().throws_from == call || script().throws_from == "all") throw std::runtime_error(call + " threw");
  }
  static void tell(std::string what) {
    const std::lock_guard lock(mutex());
    script().told.push_back(std::move(what));
  }
  static std::vector<std::string> keys(const std::map<std::string, std::string>& map) {
    std::vector<std::string> all;
    for (const auto& entry : map) all.push_back(entry.first);
    return all;
  }
};

/// Registers `driver=scripted`, and starts a new script. No device may be open.
inline Script& begin() {
  static const SoapySDR::Registry registry(
      "scripted",
      [](const SoapySDR::Kwargs&) {
        return SoapySDR::KwargsList{{{"driver", "scripted"}}};
      },
      [](const SoapySDR::Kwargs&) -> SoapySDR::Device* { return new Device; }, SOAPY_SDR_ABI_VERSION);
  return script() = Script{};
}

}  // namespace iqd::radio::soapy::scripted
