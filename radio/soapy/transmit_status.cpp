// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/transmit_status.hpp"

#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>

#include "base/log.hpp"

namespace iqd::radio::soapy {

void TransmitStatus::read(DeviceStream& radio) {
  try {
    take(radio);
  } catch (...) {
    supported_ = false;
    log::warn("{}: cannot read the transmit status: {}", radio.name(), text_of(std::current_exception()));
  }
}

void TransmitStatus::take(DeviceStream& radio) {
  constexpr int kAtOnce = 16;
  for (int i = 0; supported_ && i < kAtOnce; ++i) {
    std::size_t channels = 0;
    int flags = 0;
    long long time_ns = 0;
    const int code = radio.device().readStreamStatus(radio.stream(), channels, flags, time_ns, 0);
    if (code == SOAPY_SDR_TIMEOUT) return;
    if (code == SOAPY_SDR_NOT_SUPPORTED) supported_ = false;
    if (code == SOAPY_SDR_UNDERFLOW) counters_.underflow();
    if (code == SOAPY_SDR_TIME_ERROR) counters_.late();
    if (code == 0 && (flags & SOAPY_SDR_END_BURST)) burst_ended_ = true;
  }
}

}  // namespace iqd::radio::soapy
