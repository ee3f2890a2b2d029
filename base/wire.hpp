// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/driver.hpp"

namespace iqd {

/// Writes the first frame of a message, `topic {json}`, and returns its bytes; 0 if it does not fit. Never allocates.
///
/// `shape` and `dims` describe the payload as NumPy reads it, so sc16 is `<i2` with a last dimension `iq` of 2. Facts
/// become a list named after the varying dimension (`packets`), with one object for each item. Numbers that are not
/// finite become null. `item_rate` is the payload's number of positions per second, if not `sample_rate`. `frequency`,
/// `span` and `axes` are those at the end of the block.
std::size_t write_header(const Message& message, std::string_view topic, std::span<char> into) noexcept;

/// Longest key of a fact, in characters.
inline constexpr std::size_t kFactKeyMost = 32;

/// Bytes that suffice for any header of a port with `fact_columns` columns and at most `items` items.
std::size_t header_bound(const PortFormat& format, std::size_t topic_bytes, std::size_t fact_columns,
                         std::int64_t items) noexcept;

/// Size of the header of `framing: struct`: fixed offsets, little-endian. docs/wire.md has the layout.
inline constexpr std::size_t kStructHeaderBytes = 64;

/// Writes the first frame of a message, `topic ` and the 64 bytes, and returns its bytes; 0 if it does not fit.
/// Facts are left out.
std::size_t write_struct_header(const Message& message, std::string_view topic, std::span<char> into) noexcept;

/// Writes the header that GNU Radio's ZeroMQ sources with `pass_tags` expect before samples, then the payload's first
/// element, and returns the bytes of both; 0 if they do not fit. Those sources drop the tags of a frame without
/// samples, so the first element is included; the rest of the payload may follow in another frame. Offsets are the
/// message's `position`, so that a reader that counts items sees what is missing. `tagged` adds rx_time, rx_rate and
/// rx_freq at that first sample. For ports of one dimension, [n].
std::size_t write_gnuradio_header(const Message& message, bool tagged, std::span<char> into) noexcept;

/// Bytes that suffice for `write_gnuradio_header`.
std::size_t gnuradio_header_bound(const PortFormat& format) noexcept;

}  // namespace iqd
