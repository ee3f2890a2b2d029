// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/device/medium.hpp"

#include <algorithm>
#include <span>

namespace iqd::sim {

Medium::Medium(const Arguments& arguments, const Size& size)
    : air_(size.tx_channels, size.kept), scenario_(make_scenario({arguments, size.rate_hz, size.rx_channels, air_})) {}

void Medium::open(const Stream& tx) {
  if (!scenario_->hears_air()) return;
  for (const std::size_t channel : tx.channels) air_.open(static_cast<int>(channel));
}

void Medium::receive(Stream& rx, void* const* buffers, std::int64_t samples) {
  for (std::size_t c = 0; c < rx.channels.size(); ++c) {
    const int channel = static_cast<int>(rx.channels[c]);
    if (rx.format == Format::cf32) {
      scenario_->render(channel, rx.next, {static_cast<cf32*>(buffers[c]), static_cast<std::size_t>(samples)});
      continue;
    }
    auto* out = static_cast<std::int16_t*>(buffers[c]);
    if (scenario_->render_cs16(channel, rx.next, samples, out)) continue;
    const auto piece = static_cast<std::int64_t>(rx.scratch.size());
    for (std::int64_t done = 0; done < samples; done += piece) {
      const std::span<cf32> part(rx.scratch.data(), static_cast<std::size_t>(std::min(piece, samples - done)));
      scenario_->render(channel, rx.next + done, part);
      to_cs16(part, out + 2 * done);
    }
  }
}

void Medium::transmit(Stream& tx, const void* const* buffers, std::int64_t samples) {
  if (!scenario_->hears_air()) return;
  for (std::size_t c = 0; c < tx.channels.size(); ++c) {
    const int channel = static_cast<int>(tx.channels[c]);
    if (tx.format == Format::cf32) {
      air_.write(channel, tx.next, {static_cast<const cf32*>(buffers[c]), static_cast<std::size_t>(samples)});
      continue;
    }
    const auto* in = static_cast<const std::int16_t*>(buffers[c]);
    const auto piece = static_cast<std::int64_t>(tx.scratch.size());
    for (std::int64_t done = 0; done < samples; done += piece) {
      const std::span<cf32> part(tx.scratch.data(), static_cast<std::size_t>(std::min(piece, samples - done)));
      from_cs16(in + 2 * done, part);
      air_.write(channel, tx.next + done, part);
    }
  }
}

}  // namespace iqd::sim
