// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/noma/noma_slots/noma_slots.hpp"

namespace iqd::noma_slots {

/// The stage's outputs, in order.
enum Port : std::uint8_t { kTrainRx, kTrainTx, kRx, kDelay, kDrift, kPorts };

inline Output output_of(const StageIo& io) noexcept {
  return {.train_rx = reinterpret_cast<Complex*>(io.out[kTrainRx].data),
          .train_tx = reinterpret_cast<Complex*>(io.out[kTrainTx].data),
          .rx = reinterpret_cast<Complex*>(io.out[kRx].data),
          .delay = reinterpret_cast<float*>(io.out[kDelay].data),
          .drift = reinterpret_cast<float*>(io.out[kDrift].data)};
}

/// What the CUDA backend brings for this stage; `most`: frames in a block.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Layout& layout, const Known& known, std::int64_t most);
};

}  // namespace iqd::noma_slots
