// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace iqd::warp {

enum class Format : std::uint8_t { cf32, cs16 };
/// The full scale of cs16.
inline constexpr float kFullScale = 32768;

/// The stream of one direction; a device has at most one in each.
struct Stream {
  int direction = 0;
  Format format = Format::cs16;
  std::vector<std::size_t> channels;
  bool open = false;
  bool active = false;
};

/// A program's handle is the address of the stream.
inline Stream& stream_of(SoapySDR::Stream* handle) {
  return *reinterpret_cast<Stream*>(handle);
}

}  // namespace iqd::warp
