// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// Reads a device's identity and its sensors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <uhd/version.hpp>

#include "radio/uhd/device.hpp"
#include "radio/uhd/device_time.hpp"

namespace iqd::radio::usrp {
namespace {

using uhd::usrp::multi_usrp;

/// Values of several boards, each only once: `4.3`, or `4.3, 4.4`.
class OfBoards {
 public:
  void add(const std::string& value) {
    if (is_known(value) && std::find(values_.begin(), values_.end(), value) == values_.end()) values_.push_back(value);
  }
  void add_to(Facts& facts, const char* key) const {
    if (!values_.empty()) facts.emplace_back(key, fmt::format("{}", fmt::join(values_, ", ")));
  }

 private:
  std::vector<std::string> values_;
};

void add_version(multi_usrp& usrp, const char* leaf, const char* key, Facts& facts) {
  OfBoards values;
  const auto tree = usrp.get_tree();
  for (std::size_t board = 0; board < usrp.get_num_mboards(); ++board) {
    const uhd::fs_path path = fmt::format("/mboards/{}/{}", board, leaf);
    if (tree->exists(path)) values.add(tree->access<std::string>(path).get());
  }
  values.add_to(facts, key);
}

void add_locks(multi_usrp& usrp, std::size_t board, RadioReadings& readings) {
  const std::string clock = usrp.get_clock_source(board), time = usrp.get_time_source(board);
  const std::string of = fmt::format("board {}", board);
  const auto add = [&](const char* sensor, const char* name) {
    if (has_sensor(usrp, sensor, board))
      readings.push_back({name, of, usrp.get_mboard_sensor(sensor, board).to_bool() ? 1.0 : 0.0, true});
  };
  // With the internal reference, some boards report "not locked", because nothing has to lock.
  if (clock != "internal") add("ref_locked", "reference");
  if (clock == "gpsdo" || time == "gpsdo") add("gps_locked", "gps");
  if (time == "internal" || time == "none") return;
  const double since = (usrp.get_time_now(board) - usrp.get_time_last_pps(board)).get_real_secs();
  readings.push_back({"pps", of, since >= 0 && since < 1.5 ? 1.0 : 0.0, true});
}

/// Sensors of a GPS take up to a second each.
void add_numbers(multi_usrp& usrp, std::size_t board, RadioReadings& readings) {
  using Sensor = uhd::sensor_value_t;
  for (const std::string& name : usrp.get_mboard_sensor_names(board)) {
    if (name.starts_with("gps")) continue;
    const Sensor sensor = usrp.get_mboard_sensor(name, board);
    if (sensor.type == Sensor::REALNUM || sensor.type == Sensor::INTEGER)
      readings.push_back({name, fmt::format("board {}", board),
                          sensor.type == Sensor::REALNUM ? sensor.to_real() : sensor.to_int(), false});
  }
}

}  // namespace

Facts facts_of(multi_usrp& usrp) {
  Facts facts;
  OfBoards products, serials;
  const std::size_t boards = usrp.get_num_mboards(), channels = usrp.get_rx_num_channels();
  for (std::size_t board = 0; board < boards && channels > 0; ++board) {
    const auto info = usrp.get_usrp_rx_info(board * channels / boards);
    products.add(info.get("mboard_id", ""));
    serials.add(info.get("mboard_serial", ""));
  }
  products.add_to(facts, "product");
  serials.add_to(facts, "serial");
  // If software runs on the radio itself, that is its firmware.
  add_version(usrp, "fw_version", "firmware", facts);
  if (facts.empty() || facts.back().first != "firmware") add_version(usrp, "mpm_version", "firmware", facts);
  add_version(usrp, "fpga_version", "fpga", facts);
  add_version(usrp, "fpga_version_hash", "fpga_hash", facts);
  facts.emplace_back("libuhd", uhd::get_version_string());
  return facts;
}

RadioReadings Device::read() const {
  RadioReadings readings;
  for (std::size_t board = 0; board < usrp_->get_num_mboards(); ++board) {
    add_locks(*usrp_, board, readings);
    add_numbers(*usrp_, board, readings);
  }
  for (const bool transmits : {false, true}) read_channels(transmits, readings);
  if (const int on_air = on_air_; on_air >= 0) readings.push_back({"on_air", "", static_cast<double>(on_air), false});
  return readings;
}

void Device::read_channels(bool transmits, RadioReadings& readings) const {
  std::set<std::size_t> channels;
  {
    const std::lock_guard lock(channels_);
    channels = watched_[transmits];
  }
  for (const std::size_t c : channels) {
    const auto there = transmits ? usrp_->get_tx_sensor_names(c) : usrp_->get_rx_sensor_names(c);
    if (std::find(there.begin(), there.end(), "lo_locked") == there.end()) continue;
    const auto sensor = transmits ? usrp_->get_tx_sensor("lo_locked", c) : usrp_->get_rx_sensor("lo_locked", c);
    readings.push_back({"lo", fmt::format("{} {}", transmits ? "tx" : "rx", c), sensor.to_bool() ? 1.0 : 0.0, true});
  }
}

}  // namespace iqd::radio::usrp
