// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>

/// Between carriers and the delays of a grid. `turn`: [row][pitch], planes of exp(-2 pi j f tau / fft), where a row is a
/// carrier and `pitch` the number of delays, rounded up to whole vectors of 16.
namespace iqd {

/// to[column][l] = sum over the rows of conj(turn[row][l]) values[row][column]
void correlate_rows(const float* turn_re, const float* turn_im, std::int64_t pitch, std::int64_t rows,
                    const std::complex<float>* values, std::int64_t columns, float* to_re, float* to_im) noexcept;

/// What two carriers have, at frequencies f and -f.
struct MirroredValue {
  std::complex<double> sum, difference;
};
/// to[column][l] = sum over the rows of conj(turn[row][l]) a + turn[row][l] b, in double precision, where the column's
/// value has a + b and a - b: half as many products as for carriers one by one.
void correlate_mirrored(const float* turn_re, const float* turn_im, std::int64_t pitch, std::int64_t rows,
                        const MirroredValue* values, std::int64_t columns, double* to_re, double* to_im) noexcept;

/// parts[row][i] = sum over the used delays l of turn[row][l] wide[l][i], i = 0 … numbers-1; `width`: of a row of wide,
/// whole vectors.
void combine_delays(const float* turn_re, const float* turn_im, std::int64_t pitch, std::int64_t rows,
                    const float* wide_re, const float* wide_im, std::int64_t width, const std::int32_t* used,
                    std::int64_t used_count, std::complex<float>* parts, std::int64_t numbers) noexcept;

}  // namespace iqd
