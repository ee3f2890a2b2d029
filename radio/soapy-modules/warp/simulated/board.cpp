// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/simulated/board.hpp"

#include <algorithm>
#include <cmath>

namespace iqd::warp_node {
namespace {

Transmitter::Options amplifier_of(const Options& options) {
  Transmitter::Options o = Transmitter::impaired();
  if (options.snr_db != 0) o.noise = std::pow(10, -options.snr_db / 20);
  return o;
}

cf32 sample_of(std::uint32_t word) {
  return {static_cast<float>(static_cast<std::int16_t>(word >> 16)) / 32768.0f,
          static_cast<float>(static_cast<std::int16_t>(word)) / 32768.0f};
}

std::uint32_t word_of(cf32 sample) {
  const auto whole = [](float v) {
    return static_cast<std::uint32_t>(
        static_cast<std::uint16_t>(std::lround(std::clamp(v * 32768, -32768.0f, 32767.0f))));
  };
  return whole(sample.real()) << 16 | whole(sample.imag());
}

}  // namespace

Board::Board(const Options& options) : options_(options) {
  for (Chain& c : chains_) {
    c.tx.resize(options.most);
    c.rx.resize(options.most);
  }
  if (options.amplifier) amplifier_.emplace(amplifier_of(options));
}

void Board::initialise() {
  for (Chain& c : chains_) c.tx_on = c.rx_on = c.tx_enabled = c.rx_enabled = c.captured = false;
  triggers_ = 0;
}

void Board::restart() {
  initialise();
  for (Chain& c : chains_) c.capture = 0;
  tx_length_ = rx_length_ = options_.most;
}

template <class F> void Board::each(std::uint32_t chains, F f) {
  for (int c = 0; c < options_.chains; ++c)
    if (chains & 1u << c) f(chain(c));
}

void Board::set_rf(std::uint32_t chains, bool transmits, bool receives) {
  each(chains, [&](Chain& c) {
    c.tx_on = transmits;
    c.rx_on = receives;
  });
}

void Board::enable_transmission(std::uint32_t chains) {
  each(chains, [](Chain& c) { c.tx_enabled = true; });
}

void Board::enable_capture(std::uint32_t chains) {
  each(chains, [](Chain& c) {
    c.rx_enabled = true;
    c.captured = false;
  });
}

void Board::disable(std::uint32_t chains) {
  each(chains, [](Chain& c) { c.tx_enabled = c.rx_enabled = false; });
}

void Board::set_tx_length(std::uint32_t samples) noexcept {
  tx_length_ = std::min(samples, options_.most);
}
void Board::set_rx_length(std::uint32_t samples) noexcept {
  rx_length_ = std::min(samples, options_.most);
}

Board::Started Board::trigger(std::int64_t now) {
  Started started;
  for (Chain& c : chains_)
    if (c.tx_enabled) {
      c.sent_ns = now;
      ++started.sent;
    }
  for (int i = 0; i < options_.chains; ++i) {
    Chain& c = chain(i);
    if (!c.rx_enabled) continue;
    c.captured = true;
    c.triggered_ns = now;
    ++c.capture;
    ++started.captures;
    hear(i);
  }
  return started;
}

bool Board::is_on_air(int number, std::int64_t now) const {
  const Chain& c = chain(number);
  if (!c.tx_on || !c.tx_enabled || c.sent_ns == 0) return false;
  return tx_mode_ == 1 || now - c.sent_ns < static_cast<std::int64_t>(tx_length_ / options_.rate_hz * 1e9);
}

/// Fills the capture of a chain, all samples at once.
void Board::hear(int number) {
  Chain& rx = chain(number);
  const auto at = static_cast<std::size_t>(number);
  const int wire = at < options_.wires.size() ? options_.wires[at] : -1;
  if (wire < 0) {
    for (std::uint32_t n = 0; n < rx_length_; ++n) rx.rx[n] = pattern(rx.capture, number, n);
    return;
  }
  const Chain& tx = chain(wire);
  const bool on = rx.rx_on && tx.tx_on && tx.tx_enabled && tx_length_ > 0;
  if (amplifier_) {
    hear_through_amplifier(rx, on ? &tx : nullptr);
    return;
  }
  for (std::uint32_t n = 0; n < rx_length_; ++n) rx.rx[n] = sent(on ? &tx : nullptr, n);
}

void Board::hear_through_amplifier(Chain& rx, const Chain* tx) {
  const std::int64_t past = amplifier_->past();
  std::vector<cf32> x(rx_length_ + static_cast<std::size_t>(past + amplifier_->future())), y(rx_length_);
  for (std::int64_t n = 0; n < std::ssize(x); ++n) x[static_cast<std::size_t>(n)] = sample_of(sent(tx, n - past));
  amplifier_->run(x.data() + past, std::int64_t{rx.capture} << 24, y);
  for (std::uint32_t n = 0; n < rx_length_; ++n) rx.rx[n] = word_of(y[n]);
}

/// What arrives as sample n of a capture from a chain; null: nothing is on the air.
std::uint32_t Board::sent(const Chain* tx, std::int64_t n) const {
  n -= options_.delay + static_cast<std::int64_t>(tx_delay_);
  if (!tx || n < 0 || (tx_mode_ != 1 && n >= tx_length_)) return 0;
  return tx->tx[static_cast<std::size_t>(n) % tx_length_];
}

}  // namespace iqd::warp_node
