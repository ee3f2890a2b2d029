// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/soqpsk_modulator/soqpsk_modulator.hpp"

namespace iqd::soqpsk_modulator {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*modulate_bits)(const soqpsk::Modulator& modulator);
  std::unique_ptr<StageRun> (*make_packets)(const soqpsk::Modulator& modulator, const Packets& packets);
};

}  // namespace iqd::soqpsk_modulator
