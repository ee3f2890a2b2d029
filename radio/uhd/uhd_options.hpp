// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/driver.hpp"
#include "radio/uhd/settings.hpp"

namespace iqd::radio::usrp {

/// The keys of `uhd`. Every build reads and documents them; without libuhd, a file that names `uhd` gets a problem that
/// says so.
class UhdSourceOptions final : public SourceOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  StreamInfo describe(const Section& section) const override;
  std::unique_ptr<Source> open() const override;
  /// Whether the device is found, and not in use.
  bool is_there() const override;
  Claims claims() const override { return settings_.claims("uhd", true); }
  double opening_wait_s() const override { return settings_.lock_within_s; }
  std::optional<RadioRequest> radio() const override { return reception_.request(settings_.request()); }
  std::string calibration() const override { return reception_.calibration; }
  const Settings& settings() const noexcept { return settings_; }

 private:
  Settings settings_;
  Reception reception_;
};

class UhdSinkOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& visitor) override;
  void check(const PortFormat& format, const Section& section) const override;
  std::unique_ptr<Sink> open(const PortFormat& format) const override;
  bool reconnects() const override { return true; }
  Claims claims() const override { return settings_.claims("uhd", false); }
  std::optional<RadioRequest> radio() const override { return settings_.request(); }
  double opening_wait_s() const override { return settings_.lock_within_s; }

 private:
  Settings settings_;
  Timing timing_;
};

// Functions that need libuhd: defined in other files here, or in without_uhd.cpp.
bool is_built_in() noexcept;
std::unique_ptr<Source> open_source(const Settings& settings, Element element);
std::unique_ptr<Sink> open_sink(const Settings& settings, const Timing& timing, Element element);
std::vector<FoundDevice> probe(const std::string& args);
bool can_be_opened(const std::string& args);

}  // namespace iqd::radio::usrp
