// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/ofdm_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "signal/formats/pn_sequence.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kLeastFft = 64, kMostFft = 8192;
constexpr std::int64_t kFewestCarriers = 16;
constexpr std::int64_t kMostFrame = 1 << 20;

// Where each kind of known values begins in PN15. PN15 begins with 15 ones and few others: from its first bits a
// synchronisation symbol would have peaks of 16 dB, from these 7.6 dB.
constexpr std::int64_t kTrainingBit = 4096;
constexpr std::int64_t kMidambleBit = 8192;
constexpr std::int64_t kPilotBit = 16384;
constexpr std::int64_t kSyncBit = 20000;
constexpr std::int64_t kAnnouncementBit = 26000, kAnnouncementStep = 331;

std::vector<float> known_signs(std::int64_t first, std::int64_t count) {
  constexpr PnSequence pn(15);
  std::vector<float> signs(static_cast<std::size_t>(count));
  std::uint32_t state = pn.state_at(first);
  for (float& sign : signs) {
    sign = pn.bit(state) != 0 ? -1.0f : 1.0f;
    state = pn.next(state);
  }
  return signs;
}

std::vector<cf32> points_of(Modulation modulation, double scale) {
  const int bits = bits_of(modulation) / 2;
  const double step = scale / std::sqrt(qam::power(bits));
  std::vector<cf32> points(std::size_t{1} << 2 * bits);
  for (unsigned re = 0; re < 1u << bits; ++re)
    for (unsigned im = 0; im < 1u << bits; ++im)
      points[qam::weave(bits, re, im)] = {static_cast<float>(step * qam::amplitude(bits, re)),
                                          static_cast<float>(step * qam::amplitude(bits, im))};
  return points;
}

}  // namespace

std::optional<OfdmFormat::Fault> OfdmFormat::fault() const {
  if (fft < kLeastFft || fft > kMostFft || !std::has_single_bit(static_cast<std::uint64_t>(fft)))
    return Fault{"fft", fmt::format("has to be a power of two from {} to {}; it is {}", kLeastFft, kMostFft, fft)};
  if (carriers % 2 != 0 || carriers < kFewestCarriers || carriers > fft - 2)
    return Fault{"carriers", fmt::format("has to be an even number from {} to {}, fft - 2; it is {}", kFewestCarriers,
                                         fft - 2, carriers)};
  // The synchronisation symbol repeats after half its length: with a longer prefix, echoes are mistaken for the symbol.
  if (prefix < 1 || prefix > fft / 2)
    return Fault{"prefix", fmt::format("has to be 1 to {} samples, at most half of fft; it is {}", fft / 2, prefix)};
  if (tx < 1 || tx > kMostTx)
    return Fault{"tx", fmt::format("has to be 1 to {} transmit antennas; it is {}", kMostTx, tx)};
  if (pilot_every < 2 || pilot_every > carriers)
    return Fault{"pilot_every", fmt::format("has to be from 2 to the number of carriers, {}, so that there are pilots "
                                            "and data; it is {}",
                                            carriers, pilot_every)};
  if (midambles < 0 || midambles > kMostMidambles)
    return Fault{"midambles", fmt::format("has to be 0 to {}; it is {}", kMostMidambles, midambles)};
  if (frame > kMostFrame || data_symbols() < 1)
    return Fault{"frame",
                 fmt::format("has to be {} to {} samples: one synchronisation symbol, {} training symbols{} and at "
                             "least one data symbol, {} samples each; it is {}",
                             (2 + tx + midambles) * symbol(), kMostFrame, tx,
                             midambles > 0 ? fmt::format(", {} midambles", midambles) : "", symbol(), frame)};
  return {};
}

std::vector<float> OfdmAnnouncement::signs(int number, std::int64_t count) {
  if (number == kNone) return std::vector<float>(static_cast<std::size_t>(count), 1);
  return known_signs(kAnnouncementBit + kAnnouncementStep * number, count);
}

OfdmReference::OfdmReference(const OfdmFormat& format)
    : format_(format),
      sync_(static_cast<std::size_t>(format.carriers)),
      training_(known_signs(kTrainingBit, format.carriers)),
      midambles_(known_signs(kMidambleBit, format.midambles * format.carriers)),
      pilots_(known_signs(kPilotBit, format.data_symbols() * format.pilots() * format.tx)) {
  const auto signs = known_signs(kSyncBit, format.carriers);
  const float amplitude = std::sqrt(2 * static_cast<float>(format.tx));
  std::size_t i = 0;
  for (std::int64_t c = 0; c < format.carriers; ++c)
    if (format.frequency_of(c) % 2 == 0) sync_[static_cast<std::size_t>(c)] = amplitude * signs[i++];
}

namespace {
/// Number of an even frequency among all of them.
std::int64_t even_number(const OfdmFormat& format, std::int64_t frequency) {
  const std::int64_t of_those_below = format.carriers / 4;  // even frequencies below 0
  return of_those_below + frequency / 2 - (frequency > 0 ? 1 : 0);
}
}  // namespace

int OfdmReference::sync_antenna(std::int64_t c) const noexcept {
  const std::int64_t frequency = format_.frequency_of(c);
  return frequency % 2 != 0 ? -1 : static_cast<int>(even_number(format_, frequency) % format_.tx);
}
std::int64_t OfdmReference::sync_number(std::int64_t c) const noexcept {
  return even_number(format_, format_.frequency_of(c)) / format_.tx;
}

cf32 OfdmReference::cover(std::int64_t a, std::int64_t t) const noexcept {
  const double turn = static_cast<double>(a * t % format_.tx) / static_cast<double>(format_.tx);
  return cf32(std::polar(1.0, -2 * std::numbers::pi * turn));
}

float OfdmReference::midamble(std::int64_t j, std::int64_t c, std::int64_t a) const noexcept {
  if (c % format_.tx != a) return 0;
  return std::sqrt(static_cast<float>(format_.tx)) * midambles_[static_cast<std::size_t>(j * format_.carriers + c)];
}

cf32 OfdmReference::pilot_weight(std::int64_t s, std::int64_t i, std::int64_t t) const noexcept {
  const std::int64_t carrier = format_.pilot_carrier(i);
  cf32 weight = 0;
  for (std::int64_t a = 0; a < format_.tx; ++a) weight += pilot(s, i, a) * std::conj(cover(a, t));
  return weight * (training_[static_cast<std::size_t>(carrier)] / static_cast<float>(format_.tx));
}
float OfdmReference::pilot(std::int64_t s, std::int64_t i, std::int64_t a) const noexcept {
  const Midambles comb = format_.comb();
  const auto symbol = static_cast<std::int32_t>(s);
  if (const std::int32_t j = comb.in(symbol); j >= 0) return midamble(j, format_.pilot_carrier(i), a);
  const std::int64_t d = comb.data_before(symbol);
  return pilots_[static_cast<std::size_t>((d * format_.pilots() + i) * format_.tx + a)];
}

void put_symbol(const OfdmFormat& format, const FftPlan& plan, std::int64_t symbol, const cf32* bins, cf32* work,
                cf32* frame) noexcept {
  plan.run(bins, work);
  cf32* const y = frame + format.begin_of(symbol);
  std::copy_n(work, format.fft, y);
  const std::int64_t prefix = symbol == 0 ? format.first_prefix() : format.prefix;
  for (std::int64_t n = 1; n <= prefix; ++n) y[-n] = work[(format.fft - n % format.fft) % format.fft];
}

OfdmFrameMaker::OfdmFrameMaker(const OfdmFormat& format, const AntennaBits& modulation, double amplitude, bool announce)
    : format_(format),
      modulation_(modulation),
      plan_(format.fft, FftPlan::Direction::inverse),
      known_(static_cast<std::size_t>(format.symbols() * format.tx * format.fft)) {
  const double scale = amplitude / std::sqrt(static_cast<double>(format.carriers));
  points_ = {cf32(0)};
  for (const Modulation m : {Modulation::qpsk, Modulation::qam16, Modulation::qam64, Modulation::qam256}) {
    const auto points = points_of(m, scale);
    points_.insert(points_.end(), points.begin(), points.end());
  }
  const OfdmReference reference(format);
  std::vector<std::vector<float>> announced;  // [tx][number of its carrier]
  for (std::int64_t a = 0; a < format.tx; ++a)
    announced.push_back(OfdmAnnouncement::signs(
        announce ? OfdmAnnouncement::number_of(modulation.of(a)) : OfdmAnnouncement::kNone, format.carriers));
  const auto put = [&](std::int64_t symbol, std::int64_t a, std::int64_t c, cf32 value) {
    const std::int64_t at = (symbol * format.tx + a) * format.fft + format.bin_of(c);
    known_[static_cast<std::size_t>(at)] = cf32(static_cast<float>(scale * static_cast<double>(value.real())),
                                                static_cast<float>(scale * static_cast<double>(value.imag())));
  };
  const Midambles comb = format.comb();
  std::int64_t pilot = 0;
  for (std::int64_t c = 0; c < format.carriers; ++c) {
    const auto at = static_cast<std::size_t>(c);
    if (const int a = reference.sync_antenna(c); a >= 0) {
      const auto number = static_cast<std::size_t>(reference.sync_number(c));
      put(0, a, c, reference.sync()[at] * announced[static_cast<std::size_t>(a)][number]);
    }
    for (std::int64_t a = 0; a < format.tx; ++a)
      for (std::int64_t t = 0; t < format.tx; ++t) put(1 + t, a, c, reference.training()[at] * reference.cover(a, t));
    for (std::int32_t j = 0; j < comb.count; ++j)
      for (std::int64_t a = 0; a < format.tx; ++a) put(1 + format.tx + comb.at(j), a, c, reference.midamble(j, c, a));
    if (!format.is_pilot(c)) {
      data_bins_.push_back(static_cast<std::int32_t>(format.bin_of(c)));
      continue;
    }
    for (std::int64_t s = 0; s < format.behind(); ++s)
      for (std::int64_t a = 0; a < format.tx; ++a) put(1 + format.tx + s, a, c, reference.pilot(s, pilot, a));
    ++pilot;
  }
}

std::size_t OfdmFrameMaker::scratch_bytes() const noexcept {
  return FftRoom{format_.fft, Scratch(nullptr)}.scratch.bytes();
}

void OfdmFrameMaker::fill(std::int64_t symbol, std::int64_t a, std::span<const std::uint8_t> bits,
                          cf32* bins) const noexcept {
  std::copy_n(&known_[static_cast<std::size_t>((symbol * format_.tx + a) * format_.fft)], format_.fft, bins);
  const auto behind = static_cast<std::int32_t>(symbol - 1 - format_.tx);
  const Midambles comb = format_.comb();
  if (behind < 0 || comb.in(behind) >= 0) return;
  const std::int64_t d = comb.data_before(behind);
  const int count = modulation_.of(a), of_carrier = modulation_.sum();
  const std::int64_t step = format_.data_symbols() * of_carrier;
  const std::uint8_t* its = bits.data() + d * of_carrier + modulation_.before(a);
  const cf32* const points = &points_[static_cast<std::size_t>(first_point(count))];
  for (std::size_t i = 0; i < data_bins_.size(); ++i, its += step) {
    unsigned number = 0;
    for (int b = 0; b < count; ++b) number = number << 1 | (its[b] & 1u);
    bins[data_bins_[i]] = points[number];
  }
}

void OfdmFrameMaker::make(std::span<const std::uint8_t> bits, std::span<cf32* const> antennas,
                          std::byte* scratch) const noexcept {
  const FftRoom room{format_.fft, Scratch(scratch)};
  for (std::int64_t a = 0; a < format_.tx; ++a)
    for (std::int64_t symbol = 0; symbol < format_.symbols(); ++symbol) {
      fill(symbol, a, bits, room.bins);
      put_symbol(format_, plan_, symbol, room.bins, room.time, antennas[static_cast<std::size_t>(a)]);
    }
}

}  // namespace iqd
