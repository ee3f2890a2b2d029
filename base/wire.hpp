// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/driver.hpp"

namespace iqd {

/// Writes the first frame of a message, `topic {json}`, and returns its bytes; 0 where they do not fit. Never
/// allocates.
///
/// `shape` and `dims` describe the payload as NumPy reads it, so sc16 is `<i2` with a last dimension `iq` of 2. Facts
/// become a list named after the varying dimension (`packets`), one object an item. Numbers that are not finite become
/// null. `item_rate` says how many positions a second the payload holds, where that is not `sample_rate`.
std::size_t write_header(const Message& message, std::string_view topic, std::span<char> into) noexcept;

/// Keys of facts may have so many characters.
inline constexpr std::size_t kFactKeyMost = 32;

/// Bytes that suffice for every header of a port with so many fact columns and at most `items` items.
std::size_t header_bound(const PortFormat& format, std::size_t topic_bytes, std::size_t fact_columns,
                         std::int64_t items) noexcept;

/// What `framing: struct` puts in place of the JSON: fixed offsets, little-endian. docs/wire.md has the layout.
inline constexpr std::size_t kStructHeaderBytes = 64;

/// Writes the first frame of a message, `topic ` and the 64 bytes, and returns its bytes; 0 where they do not fit.
/// Facts are left out.
std::size_t write_struct_header(const Message& message, std::string_view topic, std::span<char> into) noexcept;

/// Writes what GNU Radio's ZeroMQ sources with `pass_tags` expect before samples, then the payload's first element, and
/// returns the bytes of both; 0 where they do not fit. They drop the tags of a frame that holds no sample, so this one
/// has to come along; the rest of the payload may follow in a frame of its own. Offsets are the message's `position`,
/// so that a reader who counts items sees what is missing. `tagged`: rx_time, rx_rate and rx_freq stand at that first
/// sample. For ports of one dimension, [n].
std::size_t write_gnuradio_header(const Message& message, bool tagged, std::span<char> into) noexcept;

/// Bytes that suffice for `write_gnuradio_header`.
std::size_t gnuradio_header_bound(const PortFormat& format) noexcept;

}  // namespace iqd
