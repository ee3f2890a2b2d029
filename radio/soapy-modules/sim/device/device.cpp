// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/device/device.hpp"

#include <SoapySDR/Constants.h>

#include <SoapySDR/Logger.hpp>
#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace iqd::sim {
namespace {

constexpr std::int64_t kMostChannels = 64;
constexpr double kSlowest = 1e3;
constexpr double kFastest = 500e6;
constexpr double kMostGain = 60;

// clang-format off
const std::initializer_list<std::string_view> kArguments{
    "driver", "common", "channel_gains", "channel_phases", "channel_delays", "channel_noise", "label", "serial", "rx",
    "tx", "scenario", "seed", "level", "snr", "frequency", "text", "symbol", "delay", "gain", "pace", "buffer",
    "epoch", "time", "rate_grid", "stall_at", "stall_for", "jump_at", "jump_by", "hang_at", "lose", "lose_every",
    "overflow_every", "overflow_lost", "short_reads", "pa", "iq_gain", "iq_phase", "lo", "memory", "disconnect_at",
    "disconnect_for", "payload", "gap", "channel", "ray_hz", "ebn0", "offset", "ppm", "fading", "format", "midambles", "modulation", "modulation_odd", "announce", "code",
    "period", "taps", "delay_spread", "doppler", "profile", "interferer", "tone", "tone_db", "levels", "start", "array",
    "users", "radius", "spread", "jitter", "powers", "motion", "phase", "chip_rate", "interval", "coding", "id", "deviation", "left", "right", "amplitude",
    "stereo", "emphasis", "symbol_rate", "timing", "alpha", "differential", "late_every", "late_lost",
    "disconnect_every", "hang_close_at", "clock_ppm", "unlock_at", "front_end", "unlock_for", "direct_buffers", "hang_open",
    "gain_step", "iq_gain_db", "dc", "phase_noise", "echo", "echo_delay", "nr_k", "nr_e", "nr_rv", "nr_graph", "crc",
    "asm", "randomize", "payload_bits"};
// clang-format on

void warn_of_unknown(const Arguments& args) {
  const auto key = args.unknown(kArguments);
  if (key) SoapySDR::log(SOAPY_SDR_WARNING, "iqdsim: the device argument '" + *key + "' is unknown and has no effect");
}

}  // namespace

Device::Device(const SoapySDR::Kwargs& args)
    : args_("iqdsim", args),
      pacing_(args_.flag("pace", true), args_.number("buffer", 0.25)),
      time_stamps_(args_.flag("time", true)),
      short_reads_(args_.flag("short_reads", false)) {
  const bool has_front_end = args_.flag("front_end", false);
  warn_of_unknown(args_);
  if (args_.text("hang_open", "") == "make") hang();
  if (Faults::unplugged(args_.text("serial", ""))) throw std::runtime_error("iqdsim: the device is unplugged");
  if (pacing_.buffer_s() <= 0 || pacing_.buffer_s() > 10)
    throw std::invalid_argument("iqdsim: buffer= must be above 0, up to 10 seconds");
  if (std::fabs(args_.number("clock_ppm", 0)) > 1e4)
    throw std::invalid_argument("iqdsim: clock_ppm= must be within ±10000");
  if (args_.number("rate_grid", 1) <= 0) throw std::invalid_argument("iqdsim: rate_grid= must be above 0");
  for (const int direction : {SOAPY_SDR_TX, SOAPY_SDR_RX}) {
    const bool rx = direction == SOAPY_SDR_RX;
    ports_.create(direction, static_cast<std::size_t>(args_.count(rx ? "rx" : "tx", 4, rx ? 1 : 0, kMostChannels)),
                  rx ? "RX" : "TX");
  }
  if (has_front_end) front_end_.emplace(ports_.count(SOAPY_SDR_RX));
  direct_.resize(static_cast<std::size_t>(args_.count("direct_buffers", 0, 0, 64)));
  set_up();  // checks the arguments now
  start_clock();
}

SoapySDR::Kwargs Device::getHardwareInfo() const {
  return {{"origin", "iqd simulated radio"},
          {"scenario", args_.text("scenario", "tone")},
          {"serial", args_.text("serial", "SIM0")},
          {"firmware", "1.0"},
          {"fpga", "1.0"}};
}

/// Locked, except for the time that the arguments name.
bool Device::is_locked() const {
  const auto lost_at = args_.number("unlock_at");
  if (!lost_at || !running()) return true;
  const double s = static_cast<double>(now()) / rate_hz_;
  return s < *lost_at || s >= *lost_at + args_.number("unlock_for", 1);
}

SoapySDR::ArgInfo Device::getSensorInfo(const std::string& key) const {
  SoapySDR::ArgInfo info;
  info.key = key;
  info.type = key == "temperature" ? SoapySDR::ArgInfo::FLOAT : SoapySDR::ArgInfo::BOOL;
  if (key == "temperature") info.units = "°C";
  return info;
}
SoapySDR::ArgInfo Device::getSensorInfo(int, std::size_t, const std::string& key) const {
  return getSensorInfo(key);
}
std::string Device::readSensor(const std::string& key) const {
  if (key == "temperature") return "42.5";
  if (key != "ref_locked") throw std::invalid_argument("iqdsim: no sensor " + key);
  return is_locked() ? "true" : "false";
}
std::string Device::readSensor(int direction, std::size_t channel, const std::string& key) const {
  ports_.at(direction, channel);
  if (key != "lo_locked") throw std::invalid_argument("iqdsim: no sensor " + key);
  return is_locked() ? "true" : "false";
}

std::size_t Device::getNumChannels(int direction) const {
  return ports_.count(direction);
}

std::vector<std::string> Device::listAntennas(int direction, std::size_t) const {
  return {direction == SOAPY_SDR_RX ? "RX" : "TX"};
}
void Device::setAntenna(int direction, std::size_t channel, const std::string& name) {
  if (name != listAntennas(direction, channel)[0]) throw std::invalid_argument("iqdsim: no antenna " + name);
  ports_.at(direction, channel).antenna = name;
}
std::string Device::getAntenna(int direction, std::size_t channel) const {
  return ports_.at(direction, channel).antenna;
}

/// The new gain and frequency apply from the current position of the hardware.
void Device::note_setting(int direction, std::size_t channel) {
  if (direction != SOAPY_SDR_RX || !front_end_) return;
  const Port& p = ports_.at(direction, channel);
  front_end_->set(channel, running() ? now() : 0, p.gain_db, p.frequency_hz);
}

void Device::setGain(int direction, std::size_t channel, double db) {
  const double step = args_.number("gain_step", 0);
  const double granted = step > 0 ? std::round(db / step) * step : db;
  ports_.at(direction, channel).gain_db = std::clamp(granted, 0.0, kMostGain);
  note_setting(direction, channel);
}
SoapySDR::Range Device::getGainRange(int, std::size_t) const {
  return {0, kMostGain, args_.number("gain_step", 0)};
}
double Device::getGain(int direction, std::size_t channel) const {
  return ports_.at(direction, channel).gain_db;
}

void Device::setFrequency(int direction, std::size_t channel, double hz, const SoapySDR::Kwargs&) {
  ports_.at(direction, channel).frequency_hz = std::clamp(hz, 0.0, 6e9);
  note_setting(direction, channel);
}
double Device::getFrequency(int direction, std::size_t channel) const {
  return ports_.at(direction, channel).frequency_hz;
}

void Device::setSampleRate(int direction, std::size_t channel, double hz) {
  ports_.at(direction, channel);
  double granted = std::clamp(hz, kSlowest, kFastest);
  if (const auto grid = args_.number("rate_grid")) granted = std::max(1.0, std::round(granted / *grid)) * *grid;
  const std::lock_guard lock(mutex_);
  if (granted == rate_hz_) return;
  if (running())
    throw std::runtime_error("iqdsim: cannot change the rate while a stream runs; both directions share it");
  rate_hz_ = granted;
}
SoapySDR::RangeList Device::getSampleRateRange(int, std::size_t) const {
  return {{kSlowest, kFastest, args_.number("rate_grid", 0)}};
}

void Device::setBandwidth(int direction, std::size_t channel, double hz) {
  ports_.at(direction, channel).bandwidth_hz = std::clamp(hz, kSlowest, kFastest);
}
double Device::getBandwidth(int direction, std::size_t channel) const {
  const double set = ports_.at(direction, channel).bandwidth_hz;
  return set > 0 ? set : rate_hz_;
}

std::string Device::getNativeStreamFormat(int, std::size_t, double& full_scale) const {
  full_scale = kFullScale;
  return "CS16";
}

bool Device::hasHardwareTime(const std::string& what) const {
  return what.empty() && time_stamps_;
}
long long Device::getHardwareTime(const std::string&) const {
  const std::lock_guard lock(mutex_);
  return clock_.time_ns(running() ? now() : 0);
}

}  // namespace iqd::sim
