// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/fields.hpp"

namespace iqd::radio {

/// What a transmitter is asked for, or what it was granted.
struct Emission {
  std::optional<double> frequency_hz;
  double width_hz = 0;  // half of it to each side of the frequency
  std::optional<double> gain_db;
  std::optional<double> power_dbm;
};

/// Where and how strongly a transmitter may transmit. The same for all drivers: what is asked is held against it before
/// a device is opened, what was granted before the first sample leaves.
struct Permitted {
  std::vector<double> bands_hz;    // low and high end of each; empty: everywhere
  std::vector<double> gains_db;    // the highest, one for all bands or one for each; empty: any
  std::vector<double> powers_dbm;  // the same

  void fields(FieldVisitor& visitor);
  /// What is wrong with the list itself, or with what is asked, goes to the section.
  void check(const Emission& asked, const Section& section) const;
  /// Throws SetupError where a radio, which `name` begins the message with, was set to what is not permitted.
  void require(const std::string& name, const Emission& granted) const;

 private:
  struct Refusal {
    const char* key;
    std::string why;
  };
  std::optional<Refusal> refusal(const Emission& emission) const;
  std::optional<Refusal> refusal_in_bands(const Emission& emission) const;
  std::optional<Refusal> refusal_in(std::size_t band, const Emission& emission) const;
  bool is_whole(const Section& section) const;
};

}  // namespace iqd::radio
