// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "radio/soapy-modules/sim/device/faults.hpp"
#include "radio/soapy-modules/sim/device/sample_clock.hpp"
#include "radio/soapy-modules/sim/scenarios/air.hpp"
#include "radio/soapy-modules/sim/scenarios/arguments.hpp"
#include "radio/soapy-modules/sim/scenarios/format.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

namespace iqd::sim {

/// One stream of one direction; a device has at most one of each.
struct Stream {
  int direction = 0;
  Format format = Format::cf32;
  std::vector<std::size_t> channels;
  bool open = false;
  std::atomic<bool> active{false};
  std::atomic<std::int64_t> next{0};  // position of the next sample
  bool in_burst = false;              // transmit: samples follow on each other
  std::vector<cf32> scratch;
};

/// Something that happened to a transmission.
struct Status {
  int code = 0;
  int flags = 0;
  std::int64_t time_ns = 0;
};

/// Never returns.
[[noreturn]] void hang();

/// The simulated radio. Positions count from the activation of the first stream to the end of the last; receiving and
/// transmitting may be done by two threads.
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
  SoapySDR::Range getGainRange(int, std::size_t) const override { return {0, 60}; }
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
  struct Port {
    std::string antenna;
    double gain_db = 0;
    double frequency_hz = 100e6;
    double bandwidth_hz = 0;
  };
  Port& port(int direction, std::size_t channel);
  const Port& port(int direction, std::size_t channel) const;
  bool running() const { return rx_.active || tx_.active; }
  void set_up();
  void start_clock();
  /// The position that the hardware would be at: paced by host time, else as far as was read (or written).
  std::int64_t now() const;
  std::int64_t ahead() const;
  bool is_locked() const;

  // Receiving (device_receive.cpp).
  int suffer(Stream& rx, long timeout_us);
  int wait_for_samples(Stream& rx, std::int64_t wanted, long timeout_us, std::int64_t& samples);
  void render(Stream& rx, void* const* buffers, std::int64_t samples);
  void note_setting(int direction, std::size_t channel);
  void pass_front_end(const Stream& rx, void* const* buffers, std::int64_t samples);

  // Buffers to be read in place (device_direct.cpp).
  struct DirectBuffer {
    std::vector<std::vector<std::byte>> channels;
    bool held = false;
  };
  std::vector<void*> addresses(std::size_t handle);

  // Transmitting (device_transmit.cpp).
  int place(Stream& tx, int flags, long long time_ns);
  bool wait_for_room(const Stream& tx, long timeout_us) const;
  void send(Stream& tx, const void* const* buffers, std::int64_t samples);
  void report(int code, int flags, std::int64_t position);
  bool take_status(Status& status);

  Arguments args_;
  bool paced_;
  bool time_stamps_;
  bool short_reads_;
  bool has_front_end_;
  double buffer_s_;
  double rate_hz_ = 1e6;
  std::vector<Port> ports_[2];

  mutable std::mutex mutex_;  // activation against the other direction's calls
  SampleClock clock_;
  std::unique_ptr<Air> air_;
  std::unique_ptr<Scenario> scenario_;
  std::unique_ptr<Faults> faults_;
  struct Setting {
    std::int64_t from;  // position
    double gain_db;
    double frequency_hz;
  };
  std::mutex settings_mutex_;
  std::vector<std::vector<Setting>> settings_;  // of each receive channel, by position
  Stream rx_;
  Stream tx_;
  std::vector<DirectBuffer> direct_;
  std::atomic<bool> unplugged_{false};
  std::atomic<bool> hangs_when_closed_{false};
  SampleClock::Steady::time_point stalled_until_{};
  std::deque<Status> status_;
  std::int64_t burst_end_ = -1;  // position at which the end of a burst is to be reported
};

}  // namespace iqd::sim
