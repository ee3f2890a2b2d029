// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "radio/soapy-modules/warp/transmit/guard.hpp"
#include "radio/soapy-modules/warp/transmit/transmitter.hpp"

namespace iqd::warp {

/// A transmitter that is never on without a guard. One thread at a time.
class GuardedTransmitter {
 public:
  /// `watchdog_ns`: the guard switches the transmitter off after so long without a sign of life.
  GuardedTransmitter(Trigger& trigger, std::vector<Chain> chains, const Transmitter::Options& options,
                     std::int64_t watchdog_ns)
      : transmitter_(trigger, std::move(chains), options), watchdog_ns_(watchdog_ns) {}

  /// Starts the guard, then the transmitter.
  void start();
  /// If this fails, it logs why, and the guard switches the transmitter off.
  void stop();
  /// Sends a sign of life. If it comes too late, switches the transmitter on again.
  void stay_alive();

  Transmitter& transmitter() noexcept { return transmitter_; }
  const Transmitter& transmitter() const noexcept { return transmitter_; }

 private:
  std::vector<Guard::Words> last_words() const;

  Transmitter transmitter_;
  std::int64_t watchdog_ns_;
  std::unique_ptr<Guard> guard_;
};

}  // namespace iqd::warp
