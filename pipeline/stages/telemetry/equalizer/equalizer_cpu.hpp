// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "pipeline/stages/telemetry/equalizer/cma_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "pipeline/stages/telemetry/equalizer/scaled_packet_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/window_filter_cpu.hpp"

/// The equalizers on the CPU, one packet at a time. Nothing is kept between packets.
namespace iqd::equalizer {

/// A packet gets the same bits whatever its neighbours, and a kind whatever the other kinds. Many threads may use it at
/// once, each with its own scratch.
class Equalizer {
 public:
  /// Throws SetupError if memory is short.
  explicit Equalizer(Setup setup);
  static std::size_t scratch_bytes(const Setup& setup) noexcept;
  void run(const Packet& packet, std::byte* scratch) const noexcept;
  const Setup& setup() const noexcept { return setup_; }

 private:
  Setup setup_;
  WindowFilter filter_;
  std::optional<WindowFilter> segments_;
  std::optional<Descent> descent_;
};

}  // namespace iqd::equalizer
