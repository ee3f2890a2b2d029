// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>
#include <gtest/gtest.h>

#include <SoapySDR/Device.hpp>
#include <SoapySDR/Modules.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/simulated/node.hpp"
#include "tests/support/built_path.hpp"

namespace iqd::warp {

using warp_node::Network;
using Words = std::vector<std::uint32_t>;
using Shorts = std::vector<std::int16_t>;

inline constexpr std::int64_t kMs = 1'000'000;

inline void load_module() {
  static const std::string loaded = SoapySDR::loadModule(built_path(IQD_WARP_MODULE, "IQD_WARP_MODULE"));
  EXPECT_TRUE(loaded.empty() || loaded.find("already") != std::string::npos) << loaded;
}

inline bool eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 2000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    if (holds()) return true;
  return false;
}

/// Nodes, and a device that consists of them.
struct Rig {
  explicit Rig(warp_node::Options options = {}, const std::string& more = "", int nodes = 1)
      : network(all(options, nodes), 0) {
    load_module();
    std::string ids = "0";
    for (int i = 1; i < nodes; ++i) ids.append("/").append(std::to_string(i));
    args = "driver=warp,address=127.0.0.1,node=" + ids + ",port=" + std::to_string(network.port()) +
           ",trigger_port=" + std::to_string(network.trigger_port()) + (more.empty() ? "" : "," + more);
    device = SoapySDR::Device::make(args);
  }
  ~Rig() {
    for (SoapySDR::Stream* s : {rx, tx})
      if (s) device->closeStream(s);
    SoapySDR::Device::unmake(device);
  }
  static std::vector<warp_node::Options> all(warp_node::Options o, int nodes) {
    std::vector<warp_node::Options> list;
    o.port = 0;
    for (o.id = 0; o.id < nodes; ++o.id, ++o.serial) list.push_back(o);
    return list;
  }
  void receive(const SoapySDR::Kwargs& stream_args, const std::vector<std::size_t>& with = {0},
               const std::string& format = "CS16") {
    channels = with.size();
    rx = device->setupStream(SOAPY_SDR_RX, format, with, stream_args);
    ASSERT_EQ(device->activateStream(rx), 0);
  }
  void transmit(const SoapySDR::Kwargs& stream_args, const std::vector<std::size_t>& with = {0},
                const std::string& format = "CS16") {
    tx = device->setupStream(SOAPY_SDR_TX, format, with, stream_args);
    ASSERT_EQ(device->activateStream(tx), 0);
  }
  /// One read, repeated after a time-out: the words of each channel; also sets `code`, `flags` and `time`.
  std::vector<Words> read(std::size_t most = 100'000) {
    std::vector<Shorts> x(channels, Shorts(2 * most));
    std::vector<void*> buffers;
    for (Shorts& c : x) buffers.push_back(c.data());
    int got = SOAPY_SDR_TIMEOUT;
    for (int i = 0; i < 300 && got == SOAPY_SDR_TIMEOUT; ++i)
      got = device->readStream(rx, buffers.data(), most, flags, time, 100'000);
    code = got;
    std::vector<Words> words(channels);
    for (std::size_t c = 0; c < channels; ++c)
      for (int n = 0; n < got; ++n)
        words[c].push_back(static_cast<std::uint32_t>(static_cast<std::uint16_t>(x[c][2 * n])) << 16 |
                           static_cast<std::uint16_t>(x[c][2 * n + 1]));
    return words;
  }
  /// A whole capture, or an exception; `time` is that of its first sample. Checks that the times within it are
  /// continuous.
  std::vector<Words> capture(std::size_t most = 100'000, double rate = 40e6) {
    std::vector<Words> all(channels);
    long long began = 0;
    do {
      const auto part = read(most);
      if (code <= 0) throw std::runtime_error(SoapySDR_errToStr(code));
      EXPECT_TRUE(flags & SOAPY_SDR_HAS_TIME);
      if (all[0].empty()) began = time;
      EXPECT_NEAR(static_cast<double>(time - began), static_cast<double>(all[0].size()) * 1e9 / rate, 1.0);
      for (std::size_t c = 0; c < channels; ++c) all[c].insert(all[c].end(), part[c].begin(), part[c].end());
    } while (!(flags & SOAPY_SDR_END_BURST));
    time = began;
    return all;
  }
  /// One write, repeated after a time-out. Another thread may read meanwhile.
  int write(const Shorts& iq, int with = 0, long long at = 0, std::size_t rows = 1) const {
    std::vector<const void*> buffers(rows, iq.data());
    int sent = SOAPY_SDR_TIMEOUT;
    for (int i = 0; i < 300 && sent == SOAPY_SDR_TIMEOUT; ++i) {
      int given = with;
      sent = device->writeStream(tx, buffers.data(), iq.size() / 2, given, at, 100'000);
    }
    return sent;
  }
  int status() {
    std::size_t mask = 0;
    for (int i = 0; i < 100; ++i)
      if ((code = device->readStreamStatus(tx, mask, flags, time, 100'000)) != SOAPY_SDR_TIMEOUT) break;
    return code;
  }
  std::uint64_t sensor(const std::string& name) { return std::stoull(device->readSensor(name)); }
  warp_node::Node& node(std::size_t i = 0) { return network.node(i); }

  Network network;
  std::string args;
  SoapySDR::Device* device = nullptr;
  SoapySDR::Stream* rx = nullptr;
  SoapySDR::Stream* tx = nullptr;
  std::size_t channels = 1;
  int flags = 0, code = 0;
  long long time = 0;
};

inline void expect_pattern(const Words& x, int chain, std::size_t length, int capture) {
  ASSERT_EQ(x.size(), length);
  for (std::uint32_t n = 0; n < x.size(); ++n) ASSERT_EQ(x[n], warp_node::pattern(capture, chain, n)) << n;
}

inline Shorts ramp(std::size_t samples) {
  Shorts x(2 * samples);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int16_t>(i * 13 + 7);
  return x;
}

inline Words words_of(const Shorts& iq) {
  Words w;
  for (std::size_t n = 0; n < iq.size(); n += 2)
    w.push_back(static_cast<std::uint32_t>(static_cast<std::uint16_t>(iq[n])) << 16 |
                static_cast<std::uint16_t>(iq[n + 1]));
  return w;
}

inline std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace iqd::warp
