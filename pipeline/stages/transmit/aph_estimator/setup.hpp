// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/element.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/transmit/aph_estimator/judgement.hpp"
#include "pipeline/stages/transmit/channel_meter.hpp"
#include "signal/transmit/aph.hpp"

namespace iqd::aph_estimator {

/// The evaluated keys.
struct Setup {
  AphOrders orders;
  std::int64_t samples = 0;
  std::int64_t search = 0;
  double gain = Report::kNan;   // NaN: not set
  double above = Report::kNan;  // NaN: not set
  bool told = false;            // whether `applied` was configured
  std::vector<cf32> applied;
  std::optional<acpr_meter::Bands> bands;
  std::int64_t size = 0;  // of the meter
  std::int64_t average = 0;
};

enum Port : std::uint8_t { kCoefficients, kReport, kEvents };

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Setup& setup);

}  // namespace iqd::aph_estimator
