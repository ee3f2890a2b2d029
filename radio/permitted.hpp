// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/fields.hpp"

namespace iqd::radio {

/// What a transmitter is asked for, or was granted.
struct Emission {
  std::optional<double> frequency_hz;
  double width_hz = 0;  // bandwidth, centred at the frequency
  std::optional<double> gain_db;
  std::optional<double> power_dbm;
};

/// Limits of a transmitter's frequencies and levels, for all drivers. The configuration is checked before a device is
/// opened, the granted values before the first sample leaves.
struct Permitted {
  std::vector<double> bands_hz;    // low and high end of each band; empty: no restriction
  std::vector<double> gains_db;    // highest values, one for all bands or one per band; empty: any
  std::vector<double> powers_dbm;  // the same

  void fields(FieldVisitor& visitor);
  /// Reports problems of the list itself, and values that are not permitted.
  void check(const Emission& asked, const Section& section) const;
  /// Throws SetupError if a radio was granted values that are not permitted; `name` starts the message.
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
