// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/estimates/delay_sums.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/estimates/delay_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::delay_sums::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using cf32 = std::complex<float>;

constexpr int kColumns = 4;  // that are correlated at once

/// to[column][l] = sum over the rows of conj(turn[row][l]) values[row][column], for `count` columns from `column`.
template <int count> void correlate_columns(const float* turn_re, const float* turn_im, std::int64_t pitch,
                                            std::int64_t rows, const cf32* values, std::int64_t columns,
                                            std::int64_t column, float* to_re, float* to_im) {
  const hn::CappedTag<float, 16> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  for (std::int64_t l = 0; l < pitch; l += lanes) {
    V re[count], im[count];
    HWY_UNROLL(4)
    for (int c = 0; c < count; ++c) re[c] = im[c] = hn::Zero(d);
    for (std::int64_t row = 0; row < rows; ++row) {
      const V x = hn::LoadU(d, turn_re + row * pitch + l), y = hn::LoadU(d, turn_im + row * pitch + l);
      const cf32* const v = values + row * columns + column;
      HWY_UNROLL(4)
      for (int c = 0; c < count; ++c) {
        const V a = hn::Set(d, v[c].real()), b = hn::Set(d, v[c].imag());
        re[c] = hn::MulAdd(y, b, hn::MulAdd(x, a, re[c]));
        im[c] = hn::NegMulAdd(y, a, hn::MulAdd(x, b, im[c]));
      }
    }
    HWY_UNROLL(4)
    for (int c = 0; c < count; ++c) {
      hn::StoreU(re[c], d, to_re + (column + c) * pitch + l);
      hn::StoreU(im[c], d, to_im + (column + c) * pitch + l);
    }
  }
}
void correlate_lanes(const float* turn_re, const float* turn_im, std::int64_t pitch, std::int64_t rows,
                     const cf32* values, std::int64_t columns, float* to_re, float* to_im) {
  std::int64_t c = 0;
  for (; c + kColumns <= columns; c += kColumns)
    correlate_columns<kColumns>(turn_re, turn_im, pitch, rows, values, columns, c, to_re, to_im);
  for (; c < columns; ++c) correlate_columns<1>(turn_re, turn_im, pitch, rows, values, columns, c, to_re, to_im);
}

template <int count> void correlate_columns(const float* turn_re, const float* turn_im, std::int64_t pitch,
                                            std::int64_t rows, const MirroredValue* values, std::int64_t columns,
                                            std::int64_t column, double* to_re, double* to_im) {
  const hn::CappedTag<double, 16> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  for (std::int64_t l = 0; l < pitch; l += lanes) {
    V re[count], im[count];
    HWY_UNROLL(4)
    for (int c = 0; c < count; ++c) re[c] = im[c] = hn::Zero(d);
    for (std::int64_t row = 0; row < rows; ++row) {
      const V x = hn::PromoteTo(d, hn::LoadU(narrow, turn_re + row * pitch + l));
      const V y = hn::PromoteTo(d, hn::LoadU(narrow, turn_im + row * pitch + l));
      const MirroredValue* const v = values + row * columns + column;
      HWY_UNROLL(4)
      for (int c = 0; c < count; ++c) {
        const auto [sum, difference] = v[c];
        re[c] = hn::MulAdd(y, hn::Set(d, difference.imag()), hn::MulAdd(x, hn::Set(d, sum.real()), re[c]));
        im[c] = hn::NegMulAdd(y, hn::Set(d, difference.real()), hn::MulAdd(x, hn::Set(d, sum.imag()), im[c]));
      }
    }
    HWY_UNROLL(4)
    for (int c = 0; c < count; ++c) {
      hn::StoreU(re[c], d, to_re + (column + c) * pitch + l);
      hn::StoreU(im[c], d, to_im + (column + c) * pitch + l);
    }
  }
}
void correlate_mirrored_lanes(const float* turn_re, const float* turn_im, std::int64_t pitch, std::int64_t rows,
                              const MirroredValue* values, std::int64_t columns, double* to_re, double* to_im) {
  std::int64_t c = 0;
  for (; c + kColumns <= columns; c += kColumns)
    correlate_columns<kColumns>(turn_re, turn_im, pitch, rows, values, columns, c, to_re, to_im);
  for (; c < columns; ++c) correlate_columns<1>(turn_re, turn_im, pitch, rows, values, columns, c, to_re, to_im);
}

/// parts[row][i] = sum over the used delays l of turn[row][l] wide[l][i], i = 0 … width-1; `width`: whole vectors.
void combine_lanes(const float* turn_re, const float* turn_im, std::int64_t pitch, std::int64_t rows,
                   const float* wide_re, const float* wide_im, std::int64_t width, const std::int32_t* used,
                   std::int64_t used_count, cf32* parts, std::int64_t numbers) {
  const hn::CappedTag<float, 16> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  using V = hn::Vec<decltype(d)>;
  HWY_ALIGN float kept[32];
  for (std::int64_t row = 0; row < rows; ++row) {
    const float *const x = turn_re + row * pitch, *const y = turn_im + row * pitch;
    for (std::int64_t i = 0; i < numbers; i += lanes) {
      V re = hn::Zero(d), im = hn::Zero(d);
      for (std::int64_t n = 0; n < used_count; ++n) {
        const std::int64_t l = used[n];
        const V a = hn::Set(d, x[l]), b = hn::Set(d, y[l]);
        const V g = hn::LoadU(d, wide_re + l * width + i), h = hn::LoadU(d, wide_im + l * width + i);
        re = hn::NegMulAdd(b, h, hn::MulAdd(a, g, re));
        im = hn::MulAdd(b, g, hn::MulAdd(a, h, im));
      }
      auto* const to = reinterpret_cast<float*>(parts + row * numbers + i);
      if (i + lanes <= numbers) {
        hn::StoreInterleaved2(re, im, d, to);
      } else {
        hn::StoreInterleaved2(re, im, d, kept);
        std::copy_n(kept, 2 * (numbers - i), to);
      }
    }
  }
}

}  // namespace iqd::delay_sums::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd {
namespace delay_sums {
HWY_EXPORT(correlate_lanes);
HWY_EXPORT(correlate_mirrored_lanes);
HWY_EXPORT(combine_lanes);
}  // namespace delay_sums

void correlate_rows(const float* turn_re, const float* turn_im, std::int64_t pitch, std::int64_t rows,
                    const std::complex<float>* values, std::int64_t columns, float* to_re, float* to_im) noexcept {
  using namespace delay_sums;
  HWY_DYNAMIC_DISPATCH(correlate_lanes)(turn_re, turn_im, pitch, rows, values, columns, to_re, to_im);
}

void correlate_mirrored(const float* turn_re, const float* turn_im, std::int64_t pitch, std::int64_t rows,
                        const MirroredValue* values, std::int64_t columns, double* to_re, double* to_im) noexcept {
  using namespace delay_sums;
  HWY_DYNAMIC_DISPATCH(correlate_mirrored_lanes)(turn_re, turn_im, pitch, rows, values, columns, to_re, to_im);
}

void combine_delays(const float* turn_re, const float* turn_im, std::int64_t pitch, std::int64_t rows,
                    const float* wide_re, const float* wide_im, std::int64_t width, const std::int32_t* used,
                    std::int64_t used_count, std::complex<float>* parts, std::int64_t numbers) noexcept {
  using namespace delay_sums;
  HWY_DYNAMIC_DISPATCH(combine_lanes)
  (turn_re, turn_im, pitch, rows, wide_re, wide_im, width, used, used_count, parts, numbers);
}

}  // namespace iqd
#endif
