// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "radio/soapy-modules/sim/device/burst_reports.hpp"
#include "radio/soapy-modules/sim/device/direct_buffers.hpp"
#include "radio/soapy-modules/sim/device/fault_injector.hpp"
#include "radio/soapy-modules/sim/device/front_end.hpp"
#include "radio/soapy-modules/sim/device/medium.hpp"
#include "radio/soapy-modules/sim/device/pacing.hpp"
#include "radio/soapy-modules/sim/device/ports.hpp"
#include "radio/soapy-modules/sim/device/sample_clock.hpp"
#include "radio/soapy-modules/sim/device/stream.hpp"
#include "radio/soapy-modules/sim/scenarios/arguments.hpp"

namespace iqd::sim {

/// The simulated radio. Positions count from the activation of the first stream to the end of the last. Two threads may
/// receive and transmit.
class Device final : public SoapySDR::Device {
 public:
  explicit Device(const SoapySDR::Kwargs& args);

  std::string getDriverKey() const override { return "iqdsim"; }
  std::string getHardwareKey() const override { return "iqdsim"; }
  SoapySDR::Kwargs getHardwareInfo() const override;
  std::size_t getNumChannels(int direction) const override;
  bool getFullDuplex(int, std::size_t) const override { return true; }
  std::vector<std::string> listAntennas(int direction, std::size_t channel) const override;
  void setAntenna(int direction, std::size_t channel, const std::string& name) override;
  std::string getAntenna(int direction, std::size_t channel) const override;

  std::vector<std::string> getStreamFormats(int, std::size_t) const override { return {"CS16", "CF32"}; }
  std::string getNativeStreamFormat(int direction, std::size_t channel, double& full_scale) const override;
  SoapySDR::Stream* setupStream(int direction, const std::string& format, const std::vector<std::size_t>& channels,
                                const SoapySDR::Kwargs& args) override;
  void closeStream(SoapySDR::Stream* stream) override;
  std::size_t getStreamMTU(SoapySDR::Stream* stream) const override;
  int activateStream(SoapySDR::Stream* stream, int flags, long long time_ns, std::size_t samples) override;
  int deactivateStream(SoapySDR::Stream* stream, int flags, long long time_ns) override;
  int readStream(SoapySDR::Stream* stream, void* const* buffers, std::size_t samples, int& flags, long long& time_ns,
                 long timeout_us) override;
  std::size_t getNumDirectAccessBuffers(SoapySDR::Stream* stream) override;
  int getDirectAccessBufferAddrs(SoapySDR::Stream* stream, std::size_t handle, void** buffers) override;
  int acquireReadBuffer(SoapySDR::Stream* stream, std::size_t& handle, const void** buffers, int& flags,
                        long long& time_ns, long timeout_us) override;
  void releaseReadBuffer(SoapySDR::Stream* stream, std::size_t handle) override;
  int writeStream(SoapySDR::Stream* stream, const void* const* buffers, std::size_t samples, int& flags,
                  long long time_ns, long timeout_us) override;
  int readStreamStatus(SoapySDR::Stream* stream, std::size_t& channels, int& flags, long long& time_ns,
                       long timeout_us) override;

  using SoapySDR::Device::getFrequency;
  using SoapySDR::Device::getGain;
  using SoapySDR::Device::getGainRange;
  using SoapySDR::Device::setFrequency;
  using SoapySDR::Device::setGain;
  void setGain(int direction, std::size_t channel, double db) override;
  double getGain(int direction, std::size_t channel) const override;
  SoapySDR::Range getGainRange(int direction, std::size_t channel) const override;
  void setFrequency(int direction, std::size_t channel, double hz, const SoapySDR::Kwargs& args) override;
  double getFrequency(int direction, std::size_t channel) const override;
  SoapySDR::RangeList getFrequencyRange(int, std::size_t) const override { return {{0, 6e9}}; }
  void setSampleRate(int direction, std::size_t channel, double hz) override;
  double getSampleRate(int, std::size_t) const override { return rate_hz_; }
  SoapySDR::RangeList getSampleRateRange(int, std::size_t) const override;
  void setBandwidth(int direction, std::size_t channel, double hz) override;
  double getBandwidth(int direction, std::size_t channel) const override;
  SoapySDR::RangeList getBandwidthRange(int, std::size_t) const override { return {{1e3, 500e6}}; }

  std::vector<std::string> listSensors() const override { return {"ref_locked", "temperature"}; }
  SoapySDR::ArgInfo getSensorInfo(const std::string& key) const override;
  std::string readSensor(const std::string& key) const override;
  std::vector<std::string> listSensors(int, std::size_t) const override { return {"lo_locked"}; }
  SoapySDR::ArgInfo getSensorInfo(int direction, std::size_t channel, const std::string& key) const override;
  std::string readSensor(int direction, std::size_t channel, const std::string& key) const override;

  bool hasHardwareTime(const std::string& what) const override;
  long long getHardwareTime(const std::string& what) const override;

 private:
  bool running() const { return rx_.active || tx_.active; }
  void set_up();
  void start_clock();
  /// The position that the hardware would be at: paced by host time, otherwise how far the program has read (or
  /// written).
  std::int64_t now() const;
  bool is_locked() const;
  void note_setting(int direction, std::size_t channel);
  int place(Stream& tx, int flags, long long time_ns);
  bool wait_for_room(const Stream& tx, long timeout_us) const;
  void report(int code, std::int64_t position);
  std::optional<Status> take_report();

  Arguments args_;
  Pacing pacing_;
  bool time_stamps_;
  bool short_reads_;
  double rate_hz_ = 1e6;
  Ports ports_;
  std::optional<FrontEnd> front_end_;

  mutable std::mutex mutex_;  // protects activation against calls in the other direction
  SampleClock clock_;
  std::unique_ptr<Medium> medium_;
  FaultInjector faults_;
  Stream rx_;
  Stream tx_;
  DirectBuffers direct_;
  BurstReports reports_;
};

}  // namespace iqd::sim
