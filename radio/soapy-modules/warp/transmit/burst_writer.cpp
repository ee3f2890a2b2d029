// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/transmit/burst_writer.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/node/front_end.hpp"

namespace iqd::warp {
namespace {

constexpr std::uint32_t kWriteAtOnce = 8192;
constexpr std::int64_t kMostWritingNs = 5'000'000'000;
constexpr std::int64_t kNotReadyNs = 1'000'000;  // until the next attempt

}  // namespace

void BurstWriter::clear() noexcept {
  chain_ = 0;
  written_ = 0;
  since_ns_ = 0;
}

void BurstWriter::start_clock() {
  if (since_ns_ == 0) since_ns_ = steady_ns();
}

bool BurstWriter::write(const Burst& burst, std::int64_t deadline_ns) {
  for (; chain_ < chains_.size(); ++chain_, written_ = 0)
    if (!write(burst, chains_[chain_], deadline_ns)) return false;
  return true;
}

bool BurstWriter::write(const Burst& burst, const Chain& chain, std::int64_t deadline_ns) {
  while (written_ < burst.size()) {
    const std::uint32_t n = std::min(kWriteAtOnce, burst.size() - written_);
    const Node::Part part{written_ == 0, written_ + n == burst.size()};
    const auto wrote =
        chain.node->write(buffer_select(chain.number), written_, n, burst.iq(chain_, written_), deadline_ns, part);
    if (wrote != Node::Write::done) {
      if (steady_ns() - since_ns_ > kMostWritingNs)
        throw std::runtime_error("warp: " + chain.node->name() + " does not accept the burst");
      const std::int64_t wait_ns = std::min(kNotReadyNs, deadline_ns - steady_ns());
      if (wrote == Node::Write::not_ready && wait_ns > 0)
        std::this_thread::sleep_for(std::chrono::nanoseconds(wait_ns));
      return false;
    }
    written_ += n;
  }
  return true;
}

}  // namespace iqd::warp
