// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "radio/file/disk_format.hpp"
#include "radio/file/iso_time.hpp"

namespace iqd::radio {

/// What the name of a file says about its samples.
struct NameHints {
  const DiskFormat* format = nullptr;
  double rate_hz = 0;  // 0: not said
  std::optional<double> frequency_hz;
  std::optional<IsoTime> time;  // of the first sample
};

/// Reads names as these programs write them: `g001_433.92M_250k.cu8` (rtl_433: a number with M, Hz, kHz, MHz or GHz is
/// a frequency, one with k, sps, ksps or Msps a rate), `gqrx_20190614_142930_433920000_1800000_fc.raw` (Gqrx),
/// `HDSDR_20150804_204851Z_433920kHz_RF.wav` (HDSDR, SDR#). The ending, or any part such as `cs16`, is the format.
NameHints hints_in(std::string_view path);

}  // namespace iqd::radio
