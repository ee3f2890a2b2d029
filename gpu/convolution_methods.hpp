// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The parts of the table in gpu/convolution.hpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/convolution.hpp"

namespace iqd::gpu {

/// Rows on the device; `rows` is 1 if one row serves all.
struct TapRows {
  const float2* data = nullptr;
  std::int64_t pitch = 0;  // elements; 0 if one row serves all
  int taps = 0;
  std::int64_t rows = 0;
};
TapRows tap_rows(View<const cf32, 2> filters) noexcept;

/// Memory for the filters joined from both of a shape; 0 if there is only one.
std::size_t joined_bytes(const ConvolutionShape& shape) noexcept;
/// The first filters, or, if there are second ones, both joined in `memory`.
TapRows join_filters(const ConvolutionIo& io, std::byte* memory, cudaStream_t stream) noexcept;

/// The sizes that a method supports, the best first.
std::vector<std::int64_t> global_sizes(const ConvolutionShape& shape);
std::vector<std::int64_t> shared_sizes(const ConvolutionShape& shape);
std::vector<std::int64_t> tiled_sizes(const ConvolutionShape& shape);
std::vector<std::int64_t> overlap_sizes(const ConvolutionShape& shape);
std::vector<std::int64_t> cufft_sizes(const ConvolutionShape& shape);

// All throw SetupError.
std::unique_ptr<Convolver> make_global(const ConvolutionShape& shape, std::int64_t threads);
std::unique_ptr<Convolver> make_shared(const ConvolutionShape& shape, std::int64_t threads);
std::unique_ptr<Convolver> make_tiled(const ConvolutionShape& shape, std::int64_t threads);
std::unique_ptr<Convolver> make_overlap(const ConvolutionShape& shape, std::int64_t size);
std::unique_ptr<Convolver> make_cufft(const ConvolutionShape& shape, std::int64_t size);
std::unique_ptr<Convolver> make_cufft_padded(const ConvolutionShape& shape, std::int64_t size);

}  // namespace iqd::gpu
