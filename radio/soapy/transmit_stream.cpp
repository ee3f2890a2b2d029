// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/transmit_stream.hpp"

#include <SoapySDR/Constants.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace iqd::radio::soapy {
namespace {

constexpr long kWriteTimeoutUs = 100'000;

}  // namespace

TransmitStream::TransmitStream(const Settings& settings, const Timing& timing, Element element)
    : settings_(settings), radio_(settings, SOAPY_SDR_TX, element), rows_(settings.channels.size(), element) {
  timing.require_clock(radio_.name(), radio_.time());
  for (const std::int64_t channel : settings.channels)
    settings.permitted.require(radio_.name(), radio_.granted(settings, static_cast<std::size_t>(channel)));
  quieten();
  radio_.start();
  active_ = true;
}

void TransmitStream::switch_on() {
  if (!active_) radio_.start();
  active_ = true;
  radio_.amplify(settings_);
  on_ = true;
}

void TransmitStream::switch_off() {
  if (on_) {
    end_burst();
    quieten();
  }
  radio_.stop();
  on_ = active_ = false;
}

int TransmitStream::write(std::int64_t left, int flags, std::int64_t time_ns) {
  const auto most = static_cast<std::size_t>(std::min<std::int64_t>(left, std::numeric_limits<int>::max()));
  const int taken =
      radio_.device().writeStream(radio_.stream(), rows_.pointers().data(), most, flags, time_ns, kWriteTimeoutUs);
  if (taken > 0 && static_cast<std::size_t>(taken) > most)
    throw std::runtime_error(radio_.name() + ": the module took more samples than it was given");
  if (taken > 0) rows_.advance(taken);
  return taken;
}

void TransmitStream::end_burst() {
  int flags = SOAPY_SDR_END_BURST;
  radio_.device().writeStream(radio_.stream(), rows_.pointers().data(), 0, flags, 0, kWriteTimeoutUs);
}

}  // namespace iqd::radio::soapy
