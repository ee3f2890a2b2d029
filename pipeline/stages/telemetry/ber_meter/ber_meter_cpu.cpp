// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "pipeline/stages/telemetry/ber_meter/ber_meter.hpp"
#include "signal/formats/pn_sequence.hpp"

namespace iqd::ber_meter {
namespace {

constexpr std::int64_t kPlaces = 32;  // windows of a packet; at 10 % of wrong bits, PN23 aligns 95 % of the packets

/// Errors against the bits that next() returns, 64 at a time; at most `limit`.
template <class Next> std::int64_t count_errors(const PackedBits& packet, Next next, std::int64_t limit) noexcept {
  std::int64_t errors = 0;
  for (std::int64_t n = 0; n < packet.size && errors < limit; n += 64) {
    std::uint64_t wrong = packet.at(n) ^ next();
    if (packet.size - n < 64) wrong &= (std::uint64_t{1} << (packet.size - n)) - 1;
    errors += std::popcount(wrong);
  }
  return std::min(errors, limit);
}

/// Calls search(place, fewest) at places spread over a packet; it returns the fewest errors so far. The search ends at
/// `enough` errors or fewer.
template <class Search> std::int64_t search_places(std::int64_t bits, std::int64_t window, std::int64_t limit,
                                                   std::int64_t enough, Search search) noexcept {
  std::int64_t fewest = limit;
  for (std::int64_t i = 0; i < kPlaces && fewest > enough; ++i)
    fewest = search(i * (bits - window) / (kPlaces - 1), fewest);
  return fewest;
}

/// The bits from a state on. The first words are computed bit by bit. After that, since a sequence also satisfies the
/// squares of its polynomial, b(n) = b(n - 2^j tap) ^ b(n - 2^j order), with j such that both lie at least a word back.
class PnWords {
 public:
  PnWords(const PnSequence& pn, std::uint32_t state) noexcept : order_(pn.order()), tap_(pn.tap()) {
    for (auto word = last_.rbegin(); word != last_.rend(); ++word)
      for (int b = 0; b < 64; ++b, state = pn.next(state)) *word |= std::uint64_t{pn.bit(state)} << b;
    while (tap_ < 64) tap_ *= 2, order_ *= 2;
  }

  std::uint64_t operator()() noexcept {
    const std::uint64_t oldest = last_[2];
    const std::uint64_t next = back(tap_) ^ back(order_);
    last_ = {next, last_[0], last_[1]};
    return oldest;
  }

 private:
  /// The 64 bits that begin n bits before the next one.
  std::uint64_t back(int n) const noexcept {
    const auto word = static_cast<std::size_t>((n - 1) / 64);
    const auto shift = static_cast<unsigned>(64 * (static_cast<int>(word) + 1) - n);
    return shift == 0 ? last_[word] : last_[word] >> shift | last_[word - 1] << (64 - shift);
  }

  std::array<std::uint64_t, 3> last_{};  // newest first
  int order_;
  int tap_;
};

class Pn final : public Sequence {
 public:
  explicit Pn(int order) : pn_(order) {}

  std::int64_t window() const noexcept override { return pn_.order(); }

  std::int64_t fewest_errors(const PackedBits& packet, std::int64_t limit) const noexcept override {
    std::uint32_t tried = 0;
    // At any other position half of the bits would be wrong: a match to a sixteenth is the right one.
    return search_places(packet.size, window(), limit, limit / 4, [&](std::int64_t place, std::int64_t fewest) {
      const std::uint32_t begin = pn_.advance(state_at(packet, place), -place);
      if (begin == 0 || begin == std::exchange(tried, begin)) return fewest;
      return count_errors(packet, PnWords(pn_, begin), fewest);
    });
  }

 private:
  std::uint32_t state_at(const PackedBits& packet, std::int64_t place) const noexcept {
    const std::uint64_t bits = packet.at(place);
    std::uint32_t state = 0;
    for (int b = 0; b < pn_.order(); ++b) state = state << 1 | (bits >> b & 1);
    return state;
  }

  PnSequence pn_;
};

class Periodic final : public Sequence {
 public:
  explicit Periodic(const std::vector<std::uint8_t>& bits) : period_(std::ssize(bits)) {
    // Extended cyclically by one word, because reads are one word long.
    std::vector<std::uint8_t> longer = bits;
    for (std::size_t n = 0; n < 64; ++n) longer.push_back(longer[n]);
    words_.resize(static_cast<std::size_t>(PackedBits::words_for(std::ssize(longer))));
    bits_ = pack(longer, words_);
    for (std::int64_t n = 0; n < period_; ++n) places_.emplace_back(window_at(bits_, n), static_cast<std::uint32_t>(n));
    std::sort(places_.begin(), places_.end());
  }

  std::int64_t window() const noexcept override { return 32; }

  std::int64_t fewest_errors(const PackedBits& packet, std::int64_t limit) const noexcept override {
    std::int64_t tried = -1;
    return search_places(packet.size, window(), limit, 0, [&](std::int64_t place, std::int64_t fewest) {
      const std::uint32_t seen = window_at(packet, place);
      auto found = std::lower_bound(places_.begin(), places_.end(), std::pair{seen, 0u});
      for (int i = 0; i < kAlike && found != places_.end() && found->first == seen; ++i, ++found) {
        const std::int64_t begin = (found->second + period_ - place % period_) % period_;
        if (begin != std::exchange(tried, begin)) fewest = errors_from(packet, begin, fewest);
      }
      return fewest;
    });
  }

 private:
  static constexpr int kAlike = 16;  // places with the same window to try

  static std::uint32_t window_at(const PackedBits& bits, std::int64_t n) noexcept {
    return static_cast<std::uint32_t>(bits.at(n));
  }
  std::int64_t errors_from(const PackedBits& packet, std::int64_t begin, std::int64_t limit) const noexcept {
    const auto next = [this, n = begin]() mutable {
      const std::uint64_t word = bits_.at(n);
      n = (n + 64) % period_;
      return word;
    };
    return count_errors(packet, next, limit);
  }

  std::int64_t period_;
  std::vector<std::uint64_t> words_;
  PackedBits bits_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places_;  // windows and their positions, sorted
};

}  // namespace

PackedBits pack(std::span<const std::uint8_t> bits, std::span<std::uint64_t> into) noexcept {
  std::fill(into.begin(), into.end(), 0);
  std::size_t n = 0;
  if constexpr (std::endian::native == std::endian::little)
    for (; n + 8 <= bits.size(); n += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, &bits[n], 8);
      // The product moves bit 8 i to bit 56 + i; no other bit gets there.
      into[n / 64] |= ((eight & 0x0101010101010101) * 0x0102040810204080 >> 56) << (n % 64);
    }
  for (; n < bits.size(); ++n) into[n / 64] |= std::uint64_t{bits[n] & 1u} << (n % 64);
  return {into, std::ssize(bits)};
}

std::unique_ptr<Sequence> pn_sequence(int order) {
  return std::make_unique<Pn>(order);
}
std::unique_ptr<Sequence> periodic_sequence(const std::vector<std::uint8_t>& bits) {
  return std::make_unique<Periodic>(bits);
}

void count_packets(const Sequence& sequence, std::span<const std::uint8_t> bits, std::int64_t kinds,
                   std::span<std::int64_t> report, std::span<std::uint64_t> scratch) noexcept {
  const std::int64_t length = std::ssize(bits) / kinds;
  const std::int64_t limit = length / 4 + 1;
  for (std::int64_t kind = 0; kind < kinds; ++kind) {
    const auto n = static_cast<std::size_t>(length);
    const PackedBits packet = pack(bits.subspan(static_cast<std::size_t>(kind) * n, n), scratch);
    const std::int64_t errors = sequence.fewest_errors(packet, limit);
    const auto add = [&](Event event, std::int64_t number) {
      report[event * static_cast<std::size_t>(kinds) + static_cast<std::size_t>(kind)] += number;
    };
    add(kPackets, 1);
    add(kPacketErrors, errors > 0);
    add(kUnaligned, errors == limit);
    if (errors == limit) continue;
    add(kBits, length);
    add(kBitErrors, errors);
  }
}

}  // namespace iqd::ber_meter
