// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/mimo_channel_estimator/soft_symbols.hpp"

#include "signal/formats/soft_qam.hpp"

namespace iqd::mimo_channel_estimator {

SoftSymbols::SoftSymbols(const Design& design, Scratch& scratch)
    : design_(design),
      e_(design.extents),
      mean_(scratch.take<cf32>(std::int64_t{e_.carriers} * e_.behind() * e_.tx)),
      doubt_(scratch.take<float>(std::int64_t{e_.carriers} * e_.behind())) {}

void SoftSymbols::read(const Decoded& data) noexcept {
  const Alphabets sent = design_.sent.with(data.sent, e_.tx);
  const float* llr = data.llr;
  cf32* mean = mean_;
  float* doubt = doubt_;
  for (int c = 0; c < e_.carriers; ++c) {
    const int place = design_.place[static_cast<std::size_t>(c)];
    for (int s = 0; s < e_.behind(); ++s, ++doubt) {
      *doubt = 0;
      const int comb = e_.comb().in(s);
      const float* const signs =
          place < 0 ? design_.pilot_signs.data() + (std::int64_t{s} * e_.pilots - 1 - place) * e_.tx : nullptr;
      for (int a = 0; a < e_.tx; ++a, ++mean) {
        if (comb >= 0) {
          *mean = design_.comb(comb, c, a);
          continue;
        }
        if (signs) {
          *mean = signs[a];
          continue;
        }
        const qam::SoftSymbol symbol = soft_point(sent, a, llr);
        *mean = {symbol.re, symbol.im};
        *doubt += symbol.variance;
        llr += design_.soft_bits;
      }
    }
  }
}

}  // namespace iqd::mimo_channel_estimator
