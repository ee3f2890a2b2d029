// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd::dsp {

/// Launches `kernel` with a thread block for every `tile` positions of each row of the output, if there are any:
/// blockIdx.x is the tile, blockIdx.y the row.
template <class Job> void launch_rows(void (*kernel)(Job), const Job& job, const PortIo& out, std::int64_t tile,
                                      int threads, StreamView stream, std::size_t shared_bytes = 0) noexcept {
  const dim3 grid(gpu::groups_of(out.length, tile), static_cast<unsigned>(out.rows));
  if (grid.x > 0 && grid.y > 0)
    kernel<<<grid, static_cast<unsigned>(threads), shared_bytes, gpu::stream_of(stream)>>>(job);
}

}  // namespace iqd::dsp
