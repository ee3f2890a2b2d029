// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/element.hpp"

namespace iqd {

/// Where the entries of a dimension lie in the spectrum, as offsets from their port's frequency: at equal distances, or
/// each at its own value. Without a step and values, the entries are not frequencies. The entries from `wrap` on are
/// lower by as many steps as there are entries: those of a transform that begins at 0 Hz. 0: there are none.
struct Frequencies {
  double first_hz = 0;
  double step_hz = 0;
  std::vector<double> values_hz = {};
  std::int64_t wrap = 0;

  bool known() const noexcept { return step_hz != 0 || !values_hz.empty(); }
  friend bool operator==(const Frequencies&, const Frequencies&) = default;
};

struct Dim {
  std::string name;
  std::int64_t extent = 0;
  std::vector<std::string> labels = {};  // names of its entries, if any
  Frequencies frequencies = {};          // of its entries, if they are bins or channels
  friend bool operator==(const Dim&, const Dim&) = default;
};

/// `[channel 2][n 4096]`
std::string to_string(const std::vector<Dim>& dims);

/// The common properties of a port's messages.
struct PortFormat {
  std::string pipeline;
  std::string port;  // stage.output
  Element element = Element::cf32;
  std::vector<Dim> dims;    // the varying dimension has its largest extent
  int varying = -1;         // which dimension differs from message to message, or -1
  double rate_hz = 0;       // of the samples at the source
  double frequency_hz = 0;  // the radio frequency of the items' 0 Hz when the plan was made; 0: none is known
  double span_hz = 0;       // the band of the items reaches half of it to each side; 0: that of the rate
  double item_rate_hz = 0;  // positions of the stream dimension per second; 0 if there is none
  double llr_scale = 0;     // for integer LLRs: the value of one step; otherwise 0
  bool mirrored = false;    // higher frequencies were lower ones on the air
  bool calibrated = false;  // made from samples of a source with a calibration
  int facts = 0;            // most fact columns of a message
  std::string hardware{};   // the radio that the samples came from

  /// False while a pipeline is checked whose plan does not reach the port.
  bool is_known() const noexcept { return !port.empty(); }
  std::int64_t bytes(std::int64_t extent) const noexcept {
    auto n = static_cast<std::int64_t>(size_of(element));
    for (std::size_t d = 0; d < dims.size(); ++d) n *= static_cast<int>(d) == varying ? extent : dims[d].extent;
    return n;
  }
  std::int64_t most() const noexcept { return varying < 0 ? 1 : dims[static_cast<std::size_t>(varying)].extent; }
  friend bool operator==(const PortFormat&, const PortFormat&) = default;
};

}  // namespace iqd
