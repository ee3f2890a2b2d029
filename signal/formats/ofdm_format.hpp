// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/element.hpp"
#include "signal/filters/fft_plan.hpp"
#include "signal/formats/antenna_bits.hpp"
#include "signal/formats/midambles.hpp"
#include "signal/formats/qam.hpp"

/// The frame that MIMO transmitters send: one synchronisation symbol, one training symbol per transmit antenna, then
/// data with pilots, among which may be midambles. docs/ofdm-frame.md describes it for developers of transmitters.
namespace iqd {

struct OfdmFormat {
  static constexpr std::int64_t kMostTx = 8;
  static constexpr std::int64_t kMostMidambles = 4;

  std::int64_t fft = 512;
  std::int64_t carriers = 300;  // without the centre one, which is not sent
  std::int64_t prefix = 36;     // samples; the first one is longer by the samples that the symbols leave over
  std::int64_t frame = 7680;    // samples
  std::int64_t tx = 2;          // transmit antennas
  std::int64_t pilot_every = 25;
  std::int64_t window = -1;  // samples by which a receiver's window begins before a symbol; -1: an eighth of the prefix
  std::int64_t midambles = 0;  // symbols behind the training that antennas share instead of data
  bool tail = false;           // a receiver's frames are followed by the beginning of the next

  std::int64_t symbol() const noexcept { return prefix + fft; }
  std::int64_t symbols() const noexcept { return frame / symbol(); }
  /// Symbols behind the training: data and midambles.
  std::int64_t behind() const noexcept { return symbols() - 1 - tx; }
  std::int64_t data_symbols() const noexcept { return behind() - midambles; }
  Midambles comb() const noexcept {
    return {static_cast<std::int32_t>(behind()), static_cast<std::int32_t>(midambles)};
  }
  /// Symbols of the next frame that follow, and their samples.
  std::int64_t tail_symbols() const noexcept { return tail ? 1 + tx : 0; }
  std::int64_t tail_samples() const noexcept { return tail ? begin_of(tx) + fft : 0; }
  std::int64_t pilots() const noexcept { return carriers / pilot_every; }
  std::int64_t data_carriers() const noexcept { return carriers - pilots(); }
  /// Samples by which a receiver's window begins before a symbol, inside the prefix: paths may arrive early() before
  /// the frame's timing, and prefix - early() after it.
  std::int64_t early() const noexcept { return window < 0 ? prefix / 8 : window; }
  /// Samples of the frame before the first symbol's transform, and before the others'.
  std::int64_t first_prefix() const noexcept { return frame - symbols() * symbol() + prefix; }
  std::int64_t begin_of(std::int64_t symbol_number) const noexcept { return first_prefix() + symbol_number * symbol(); }
  /// The middle of a symbol of the next frame, in symbols from that of symbol 0.
  double tail_position(std::int64_t symbol_number) const noexcept {
    return static_cast<double>(frame + symbol_number * symbol()) / static_cast<double>(symbol());
  }
  /// Frequency of carrier c = 0 … carriers - 1 in multiples of the spacing: -carriers/2 … -1, 1 … carriers/2.
  std::int64_t frequency_of(std::int64_t c) const noexcept {
    return c < carriers / 2 ? c - carriers / 2 : c - carriers / 2 + 1;
  }
  /// The same, as a bin 0 … fft - 1 of the transform.
  std::int64_t bin_of(std::int64_t c) const noexcept { return (frequency_of(c) + fft) % fft; }
  bool is_pilot(std::int64_t c) const noexcept {
    return c % pilot_every == pilot_every / 2 && c / pilot_every < pilots();
  }
  std::int64_t pilot_carrier(std::int64_t i) const noexcept { return i * pilot_every + pilot_every / 2; }
  /// Data bits of a frame. Bit b of antenna a on data carrier i, data symbol d is at (i data_symbols + d) m.sum() +
  /// m.before(a) + b.
  std::int64_t bits(const AntennaBits& m) const noexcept { return data_carriers() * data_symbols() * m.sum(); }
  std::int64_t bits(Modulation m) const noexcept { return bits(AntennaBits(m, tx)); }

  /// What is wrong with the format, and with which key; empty if nothing is.
  struct Fault {
    std::string key;
    std::string what;
  };
  std::optional<Fault> fault() const;
  friend bool operator==(const OfdmFormat&, const OfdmFormat&) = default;
};

/// How a transmitter announces the modulation of each antenna: its carriers of the synchronisation symbol are multiplied
/// with the signs of a number.
struct OfdmAnnouncement {
  static constexpr int kNumbers = 16;
  static constexpr int kNone = 0;    // nothing is announced; all signs are 1
  static constexpr int kSilent = 5;  // 1 … 4: 2, 4, 6, 8 bits a point; larger ones mean nothing yet

  static constexpr int number_of(int bits) noexcept { return bits == 0 ? kSilent : bits / 2; }
  /// Sign of the antenna's j-th carrier, counted upwards from 0: [count].
  static std::vector<float> signs(int number, std::int64_t count);
};

/// The known values of a frame, by carrier, relative to data of power 1 per antenna.
class OfdmReference {
 public:
  explicit OfdmReference(const OfdmFormat& format);
  /// [carrier]: the synchronisation symbol: real, 0 at odd frequencies. The i-th of the even frequencies is sent only
  /// by antenna i mod tx, with amplitude sqrt(2 tx), so that every antenna has the power of data. Its two halves are
  /// equal.
  std::span<const float> sync() const noexcept { return sync_; }
  int sync_antenna(std::int64_t c) const noexcept;  // the antenna that sends it; -1: none
  /// Which of that antenna's carriers it is, counted upwards from 0.
  std::int64_t sync_number(std::int64_t c) const noexcept;
  /// [carrier]: -1 or 1; antenna a sends it on training symbol t times cover(a, t) = exp(-2 pi j a t / tx).
  std::span<const float> training() const noexcept { return training_; }
  cf32 cover(std::int64_t a, std::int64_t t) const noexcept;
  /// In midamble j: sqrt(tx) or -sqrt(tx) on the carriers of antenna a, those with c mod tx = a; else 0.
  float midamble(std::int64_t j, std::int64_t c, std::int64_t a) const noexcept;
  /// -1 or 1, for symbol s behind the training, pilot i, antenna a; in a midamble, what is sent on the pilot's carrier.
  float pilot(std::int64_t s, std::int64_t i, std::int64_t a) const noexcept;
  /// What a receiver expects at a pilot, if the channel stands still, is the sum over t of this times what it heard on
  /// training symbol t.
  cf32 pilot_weight(std::int64_t s, std::int64_t i, std::int64_t t) const noexcept;

 private:
  OfdmFormat format_;
  std::vector<float> sync_;
  std::vector<float> training_;
  std::vector<float> midambles_;
  std::vector<float> pilots_;
};

/// Writes a symbol with its prefix into `frame`, from its bins; `plan` is an inverse one, `work`: [fft].
void put_symbol(const OfdmFormat& format, const FftPlan& plan, std::int64_t symbol, const cf32* bins, cf32* work,
                cf32* frame) noexcept;

/// Makes the samples of one frame for each antenna from its data bits: rows of `format.frame` samples, x(n) = amplitude
/// / sqrt(carriers) sum over c of X_c exp(2 pi j frequency(c) n / fft), so that an antenna's mean power is amplitude^2.
class OfdmFrameMaker {
 public:
  /// `modulation`: of each antenna; one that is silent still sends what is known.
  /// `announce`: the modulations are announced.
  OfdmFrameMaker(const OfdmFormat& format, const AntennaBits& modulation, double amplitude = 1, bool announce = false);
  OfdmFrameMaker(const OfdmFormat& format, Modulation modulation, double amplitude = 1)
      : OfdmFrameMaker(format, AntennaBits(modulation, format.tx), amplitude) {}
  std::size_t scratch_bytes() const noexcept;
  /// `bits`: [format.bits(modulation)], only the lowest bit of each counts. Any thread, each with its own scratch.
  void make(std::span<const std::uint8_t> bits, std::span<cf32* const> antennas, std::byte* scratch) const noexcept;

  const OfdmFormat& format() const noexcept { return format_; }
  const AntennaBits& modulation() const noexcept { return modulation_; }
  /// [symbol][tx][bin]: the input of the transforms, with 0 in place of data.
  std::span<const cf32> known() const noexcept { return known_; }
  /// [data carrier]: its bin.
  std::span<const std::int32_t> data_bins() const noexcept { return data_bins_; }
  /// Of all alphabets, one after the other: the values in the transform, by symbol number.
  std::span<const cf32> points() const noexcept { return points_; }
  /// Where the points of an alphabet begin: silence is one point, 0.
  static constexpr int first_point(int bits) noexcept { return bits == 0 ? 0 : 1 + ((1 << bits) - 4) / 3; }

 private:
  void fill(std::int64_t symbol, std::int64_t a, std::span<const std::uint8_t> bits, cf32* bins) const noexcept;

  OfdmFormat format_;
  AntennaBits modulation_;
  FftPlan plan_;
  std::vector<cf32> known_;
  std::vector<std::int32_t> data_bins_;
  std::vector<cf32> points_;
};

}  // namespace iqd
