// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "radio/uhd/device.hpp"
#include "radio/uhd/settings.hpp"

namespace iqd::radio::usrp {

/// libuhd's calls of one direction, by what they do.
struct Calls;
extern const Calls kReceive;
extern const Calls kTransmit;

/// The channels of a device in one direction, set up as asked. Whatever libuhd throws meanwhile becomes a SetupError
/// that says at which step.
class FrontEnd {
 public:
  FrontEnd(const Settings& settings, const Calls& calls);
  /// Takes over frequency and gain. Throws SetupError where they are refused; then they are as before.
  void retune(const Settings& settings);

  uhd::stream_args_t stream_args(const Settings& settings, Element element) const;
  const Device& device() const noexcept { return *shared_->device; }
  uhd::usrp::multi_usrp& usrp() const noexcept { return device().usrp(); }
  const std::string& name() const noexcept { return device().name(); }
  std::size_t channels() const noexcept { return channels_.size(); }
  double rate_hz() const noexcept { return rate_hz_; }
  double frequency_hz() const noexcept { return frequency_hz_; }
  /// Gives the device away, to be closed.
  std::shared_ptr<Device> release() noexcept { return std::exchange(shared_, nullptr)->device; }

 private:
  void choose_channels(const Settings& settings);
  void set_rate(const Settings& settings);
  void set_antenna(const std::string& antenna);
  void check_ranges(const Settings& settings) const;
  void set_live(std::optional<double> frequency_hz, std::optional<double> gain_db);
  void set_frequency(double hz);

  const Calls& calls_;
  std::vector<std::size_t> channels_;
  double rate_hz_ = 0;
  double frequency_hz_ = 0;
  std::shared_ptr<SharedDevice> shared_;
};

}  // namespace iqd::radio::usrp
