// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace iqd::warp_node {

/// Faults. A number N means "every N-th"; 0 is never.
struct Faults {
  int lose = 0;           // packets of samples to the host
  int repeat = 0;         // packets of samples come twice
  int swap = 0;           // a packet of samples arrives after the next one
  int cut = 0;            // packets of samples are too short
  int foreign = 0;        // a packet for another host precedes a packet of samples
  int lose_commands = 0;  // of all that arrive, of any kind
  int lose_triggers = 0;
  int lose_written = 0;   // packets of samples from the host
  double late_s = 0;      // how much later than due a capture is ready
  double deaf_at_s = -1;  // sends nothing from then on…
  double deaf_for_s = 0;  // …for this long
};

struct Options {
  std::string address = "127.0.0.1";
  int id = 0;
  int port = 9000;  // the node's port is `port` + `id`; 0: any free port
  int serial = 1;
  int chains = 4;
  std::uint32_t most = 1 << 20;  // samples in a buffer
  double rate_hz = 40e6;
  bool configured = true;      // otherwise it has no id until it is given one
  bool small_packets = false;  // takes the maximum bytes of a packet to include headers
  bool write_clears = false;   // the first packet of a write empties the buffer
  bool start_once = false;     // the checksum includes the start of a write, not of each packet
  std::vector<int> wires;      // receive chain c hears transmit chain wires[c]; -1 or missing: a pattern
  int delay = 0;               // samples on the way
  bool amplifier = false;      // adds the `spec` amplifier with its mixer
  double snr_db = 0;           // below full scale; 0: no noise
  Faults faults;
};

}  // namespace iqd::warp_node
