// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "base/shape.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/stage.hpp"
#include "signal/formats/packet_format.hpp"

/// What the stages of the telemetry receiver share: the keys that describe the packets.
namespace iqd::telemetry {

inline void packet_bit_fields(FieldVisitor& v, PacketFormat& format) {
  v.field("preamble", format.preamble,
          {.help = "one period of the preamble, first bit first: hexadecimal, with or without 0x, or like 0b1101"});
  v.field("repeats", format.repeats, {.help = "repetitions of that period in the preamble", .low = 4, .high = 64});
  v.field("sync_word", format.sync_word, {.help = "sync word behind the preamble, in the same notation"});
  v.field("payload_bits", format.payload_bits, {.help = "data bits of a packet", .low = 2, .high = 1 << 20});
}
inline void packet_fields(FieldVisitor& v, PacketFormat& format) {
  packet_bit_fields(v, format);
  v.field("samples_per_bit", format.samples_per_bit, {.help = "samples of a bit: 2, 4 or 8", .low = 2, .high = 8});
}

/// Reports what is wrong with the format to the section; true if nothing is.
inline bool check_packets(const PacketFormat& format, const Section& section) {
  const auto fault = format.fault();
  if (fault) section.problem(fault->key, fault->what);
  return !fault;
}

/// Reports a port whose items are not `[packet]` of that many elements to the section; true if they are.
inline bool check_items(const PortShape& port, std::string_view input, std::int64_t item_size, const Section& section) {
  if (port.axis == Axis::counted && port.rows.empty() && port.item_size() == item_size) return true;
  section.problem("", fmt::format("input '{}' must hold {} elements a packet in this packet format; it is {}", input,
                                  item_size, port.text()));
  return false;
}

/// The default `loop_bandwidth` behind this port: wider if each packet has its own offset, which is less accurate.
inline double usual_bandwidth(const PortShape& port) {
  return std::find(port.marks.begin(), port.marks.end(), "offset_of_packet") != port.marks.end() ? 0.01 : 0.005;
}

}  // namespace iqd::telemetry
