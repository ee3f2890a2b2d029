// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/driver.hpp"

/// Ports and messages for tests.
namespace iqd::radio {

/// A stream port of one or more channels at 1 MS/s.
inline PortFormat stream_format(Element element, std::int64_t channels = 1, std::int64_t most = 4096,
                                std::string port = "source.out") {
  PortFormat format;
  format.pipeline = "test";
  format.port = std::move(port);
  format.element = element;
  if (channels > 1) format.dims.push_back({"channel", channels});
  format.dims.push_back({"n", most});
  format.varying = static_cast<int>(format.dims.size()) - 1;
  format.rate_hz = format.item_rate_hz = 1e6;
  format.frequency_hz = 1.4515e9;
  return format;
}

/// A message that starts at the given source sample; its payload is [channel][n].
template <class T>
Message message_of(const PortFormat& format, SampleIndex sample, std::span<const T> payload, std::int64_t gap = 0) {
  Message message;
  message.format = &format;
  message.sample = sample;
  message.time_ns = 1'743'422'400'000'000'000 + sample * 1000;
  message.time = TimeSource::radio;
  message.gap = gap;
  message.payload = std::as_bytes(payload);
  message.extent = static_cast<std::int64_t>(message.payload.size()) / format.bytes(1);
  return message;
}

/// Sample n of every channel is n, wherever a message starts.
inline std::vector<cf32> ramp(std::int64_t first, std::int64_t samples, std::int64_t channels) {
  std::vector<cf32> payload;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t n = 0; n < samples; ++n)
      payload.emplace_back(static_cast<float>(first + n), static_cast<float>(c));
  return payload;
}

}  // namespace iqd::radio
