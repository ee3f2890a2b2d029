// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of lmmse_detector, rounded alike on CPU and GPU. The CPU code includes it within a namespace once for
// each SIMD target, where a Value is a register of one number per vector; the CUDA code includes it with Value = float.
// The includer defines Value and number, root, least, greatest, sign (1, or -1 where its argument is below 0) and
// exponential, infinite_beyond (0, or infinity where a level is higher than the highest).

// The constructors are written down since GCC compiles implicit ones without the target's instructions, and then cannot
// construct ARM's registers.

struct ComplexValue {
  ComplexValue() = default;
  IQD_HOST_DEVICE ComplexValue(Value real, Value imag) : re(real), im(imag) {}
  Value re, im;
};

/// yh = R a + noise, with R upper triangular with real diagonal; columns are antennas in the order of the sorted QR.
struct System {
  System() = default;
  ComplexValue r[kMostAntennas][kMostAntennas];
  ComplexValue yh[kMostAntennas];
};

struct Estimate {
  Estimate() = default;
  ComplexValue x[kMostAntennas];  // mu a, plus what remains of noise and the other antennas
  Value error[kMostAntennas];     // 1 - mu, mu = SINR / (1 + SINR)
};

/// Applies to (a, w) the rotation that zeros w of (r, w): cosine real, sine complex.
IQD_HOST_DEVICE inline void turn(Value cosine, ComplexValue sine, ComplexValue& a, ComplexValue& w) {
  const ComplexValue old = a;
  a.re = cosine * old.re + (sine.re * w.re + sine.im * w.im);
  a.im = cosine * old.im + (sine.re * w.im - sine.im * w.re);
  w.re = cosine * w.re - (sine.re * old.re - sine.im * old.im);
  w.im = cosine * w.im - (sine.re * old.im + sine.im * old.re);
}

/// Replaces R by the triangle of the matrix with sigma I below R, and yh accordingly, row by row with Givens rotations.
/// The squares of R's entries never mix with sigma's, so the result is as good for singular channels without noise as
/// for others.
IQD_HOST_DEVICE inline void append_noise(int tx, Value sigma, System& s) {
  const Value zero = number(0), one = number(1), tiny = number(1e-30f);
  for (int t = 0; t < tx; ++t) {
    ComplexValue w[kMostAntennas], z{zero, zero};
    for (int j = t; j < tx; ++j) w[j] = {j == t ? sigma : zero, zero};
    for (int j = t; j < tx; ++j) {
      const Value r = s.r[j][j].re;
      const Value length = root(r * r + (w[j].re * w[j].re + w[j].im * w[j].im));  // 0 or more than 1e-23
      const Value divisor = greatest(length, tiny);
      const Value cosine = greatest(r / divisor, one - length / tiny);  // 1 for a length of 0
      const ComplexValue sine{w[j].re / divisor, w[j].im / divisor};
      s.r[j][j].re = length;
      for (int l = j + 1; l < tx; ++l) turn(cosine, sine, s.r[j][l], w[l]);
      turn(cosine, sine, s.yh[j], z);
    }
  }
}

/// x = (R^H R + sigma^2 I)^-1 R^H yh. The error variances are the square sums of the rows of T = sigma R^-1, with the R
/// that sigma was appended to.
IQD_HOST_DEVICE inline Estimate equalize(int tx, Value sigma, System s) {
  append_noise(tx, sigma, s);
  const Value zero = number(0), huge = number(1e30f), minus_huge = number(-1e30f);  // avoids NaN
  const Value least_error = number(std::numeric_limits<float>::min());
  Estimate estimate;
  for (int t = 0; t < tx; ++t) {
    ComplexValue row[kMostAntennas], x{zero, zero};
    Value error = zero;
    for (int j = t; j < tx; ++j) {
      ComplexValue sum{j == t ? sigma : zero, zero};
      for (int k = t; k < j; ++k) {
        sum.re = sum.re - (row[k].re * s.r[k][j].re - row[k].im * s.r[k][j].im);
        sum.im = sum.im - (row[k].re * s.r[k][j].im + row[k].im * s.r[k][j].re);
      }
      row[j] = {sum.re / s.r[j][j].re, sum.im / s.r[j][j].re};
      error = error + (row[j].re * row[j].re + row[j].im * row[j].im);
      x.re = x.re + (row[j].re * s.yh[j].re - row[j].im * s.yh[j].im);
      x.im = x.im + (row[j].re * s.yh[j].im + row[j].im * s.yh[j].re);
    }
    estimate.x[t] = {least(greatest(x.re / sigma, minus_huge), huge), least(greatest(x.im / sigma, minus_huge), huge)};
    estimate.error[t] = least(greatest(error, least_error), number(1));
  }
  return estimate;
}

/// LLRs of the `half` bits of one axis. The levels' distances times mu are mu a^2 - 2 x a plus a common term, exact
/// even where mu is 0. `scale`: the power of a level 1, over the error. `top`: the highest level there is, if kMixed.
template <bool kMixed>
IQD_HOST_DEVICE inline void demap(int half, Value x, Value mu, Value scale, Value top, Value (&llr)[4]) {
  Value best[4][2];
  for (int b = 0; b < half; ++b) best[b][0] = best[b][1] = number(std::numeric_limits<float>::infinity());
  for (int l = 0; l < 1 << half; ++l) {
    const Value a = number(static_cast<float>(qam::amplitude(half, static_cast<unsigned>(l))));
    Value cost = a * (mu * a - (x + x));
    if constexpr (kMixed) cost = cost + infinite_beyond(top, qam::amplitude(half, static_cast<unsigned>(l)));
    for (int b = 0; b < half; ++b) {
      Value& least_cost = best[b][l >> (half - 1 - b) & 1];
      least_cost = least(least_cost, cost);
    }
  }
  const float most = std::numeric_limits<float>::max();
  for (int b = 0; b < half; ++b)
    llr[b] = least(greatest((best[b][1] - best[b][0]) * scale, number(-most)), number(most));
}

/// The level given by the signs of an axis's LLRs.
IQD_HOST_DEVICE inline Value level(int half, const Value (&llr)[4]) {
  Value a = number(0);
  for (int b = half - 1; b >= 0; --b) a = sign(llr[b]) * (number(static_cast<float>(1 << (half - 1 - b))) - a);
  return a;
}

/// |yh - R a|^2
IQD_HOST_DEVICE inline Value distance(int tx, const System& s, const ComplexValue* a) {
  Value sum = number(0);
  for (int i = 0; i < tx; ++i) {
    ComplexValue e = s.yh[i];
    for (int j = i; j < tx; ++j) {
      e.re = e.re - (s.r[i][j].re * a[j].re - s.r[i][j].im * a[j].im);
      e.im = e.im - (s.r[i][j].re * a[j].im + s.r[i][j].im * a[j].re);
    }
    sum = sum + (e.re * e.re + e.im * e.im);
  }
  return sum;
}

/// LLR of a bit that is known since the alphabet is a smaller one: its mean is a whole number then.
IQD_HOST_DEVICE inline float known_llr(const Alphabet& alphabet, int bit) {
  constexpr float kCertain = 100;
  return alphabet.known(bit / 2) != 0 ? -kCertain : kCertain;
}

struct Decision {
  Decision() = default;
  Value llr[2][4];  // by axis
};

IQD_HOST_DEVICE inline Decision sum(int half, const Decision& p, const Decision& q) {
  Decision both;
  for (int b = 0; b < half; ++b)
    for (int axis = 0; axis < 2; ++axis) both.llr[axis][b] = p.llr[axis][b] + q.llr[axis][b];
  return both;
}
IQD_HOST_DEVICE inline ComplexValue symbol(int half, const Decision& of) {
  return {level(half, of.llr[0]), level(half, of.llr[1])};
}

/// tanh(x / 2)
IQD_HOST_DEVICE inline Value tanh_of_half(Value x) {
  const Value one = number(1), e = exponential(number(0) - greatest(x, number(0) - x));
  return sign(x) * ((one - e) / (one + e));
}
/// Mean and mean square of a level whose bits have these LLRs: it is s0 (4 - s1 (2 - s2)) with three bits.
IQD_HOST_DEVICE inline void expect(int half, const Value (&llr)[4], Value& mean, Value& square) {
  mean = square = number(0);
  for (int b = half - 1; b >= 0; --b) {
    const Value base = number(static_cast<float>(1 << (half - 1 - b)));
    square = base * base - (base + base) * mean + square;
    mean = tanh_of_half(llr[b]) * (base - mean);
  }
}

/// What a prior says of the symbols: their means, and how much of their power is not known.
struct Known {
  Known() = default;
  ComplexValue mean[kMostAntennas];
  Value share[kMostAntennas];
};
template <bool kMixed>
IQD_HOST_DEVICE inline Known know(int tx, int half, Value power, const Decision* prior, const Value* top) {
  const Value least_share = number(0x1p-10f);  // keeps 1 - error exact enough
  Known known;
  for (int t = 0; t < tx; ++t) {
    Value square[2];
    expect(half, prior[t].llr[0], known.mean[t].re, square[0]);
    expect(half, prior[t].llr[1], known.mean[t].im, square[1]);
    const Value re = known.mean[t].re, im = known.mean[t].im;
    Value least_of_antenna = least_share;
    if constexpr (kMixed) {  // of its own power
      const Value levels = top[t] + number(1);
      least_of_antenna = least_share * (levels * levels - number(1)) * (power * number(2.0f / 3));
    }
    known.share[t] = greatest((square[0] + square[1] - (re * re + im * im)) * power, least_of_antenna);
  }
  return known;
}
/// The system of what is not known, in units of its root.
IQD_HOST_DEVICE inline System unknown_of(int tx, const Known& known, System s) {
  for (int j = 0; j < tx; ++j) {
    const Value scale = root(known.share[j]), re = known.mean[j].re, im = known.mean[j].im;
    for (int i = 0; i <= j; ++i) {
      ComplexValue& r = s.r[i][j];
      s.yh[i].re = s.yh[i].re - (r.re * re - r.im * im);
      s.yh[i].im = s.yh[i].im - (r.re * im + r.im * re);
      r.re = r.re * scale;
      r.im = r.im * scale;
    }
  }
  return s;
}

/// From R (for symbols of odd numbers), yh, the noise and, with `kPrior`, a prior to LLRs without the prior. Returns
/// |yh - R a|^2 of the symbols decided. With `kMixed` the prior says which bits are known since an antenna has a smaller
/// alphabet, and `top` is the highest level of each.
template <bool kPrior, bool kMixed = false> IQD_HOST_DEVICE inline Value detect(int tx, int bits, Value noise,
                                                                                const System& s, const Decision* prior,
                                                                                const Value* top, Decision* decision) {
  const int half = bits / 2;
  const Value power = number(1 / static_cast<float>(qam::power(half)));
  const Value one = number(1);
  const Value sigma = root(greatest(noise * power, number(std::numeric_limits<float>::min())));
  Known known;
  if constexpr (kPrior) known = know<kMixed>(tx, half, power, prior, top);
  const Estimate estimate = equalize(tx, sigma, kPrior ? unknown_of(tx, known, s) : s);
  ComplexValue a[kMostAntennas];
  for (int t = 0; t < tx; ++t) {
    const Value mu = one - estimate.error[t];
    Value scale = power / estimate.error[t];
    ComplexValue x = estimate.x[t];
    if constexpr (kPrior) {
      const Value deviation = root(known.share[t]);
      x = {known.mean[t].re * mu + deviation * x.re, known.mean[t].im * mu + deviation * x.im};
      scale = scale / known.share[t];
    }
    const Value highest = kMixed ? top[t] : one;
    demap<kMixed>(half, x.re, mu, scale, highest, decision[t].llr[0]);
    demap<kMixed>(half, x.im, mu, scale, highest, decision[t].llr[1]);
    a[t] = kPrior ? symbol(half, sum(half, decision[t], prior[t])) : symbol(half, decision[t]);
  }
  return distance(tx, s, a);
}
