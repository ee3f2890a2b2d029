// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/loop.hpp"
#include "signal/formats/packet_format.hpp"

/// From symbols at bit centres to bits: the pilot gives the amplitude, a loop that is first pilot-aided and then
/// decision-directed gives the phase, and the noise on the pilot gives the LLRs. Each packet of each kind is a separate
/// chain.
///
/// symbols  [chain][bits]     cf32, at the eyes' centres: bit k is on Re for even k, on Im for odd k
/// bits     [chain][payload]  u8
/// soft     [chain][bits]     f32, about ±1, positive for 1; pilot included, not differentially decoded
/// llr      [chain][payload]  f32 or i8, positive for 0; f32 at most 1e4, i8 in units of 1/4
///
/// A chain with a NaN or an infinity has bits of 0, soft values of NaN and LLRs of 0; other chains are unaffected. If
/// the amplitude is 0, as of zeros, soft values and LLRs are 0 and the bits 1. Keeps nothing between calls.
namespace iqd::soqpsk_detector {

using telemetry::decide, telemetry::Decision, telemetry::whole_llr, telemetry::kBefore, telemetry::kLlrScale;
using telemetry::Gains, telemetry::gains_of, telemetry::Loop, telemetry::Pilot, telemetry::Symbol;
using telemetry::kSettled, telemetry::kTile;

enum class LlrForm : std::uint8_t { f32, i8 };
inline std::span<const std::string_view> enum_names(LlrForm) {
  static constexpr std::string_view names[] = {"f32", "i8"};
  return names;
}

struct Config {
  std::optional<double> loop_bandwidth;
  std::int64_t loop_order = 2;
  bool differential = false;
  LlrForm llr = LlrForm::f32;
  PacketFormat packet;

  void fields(FieldVisitor& visitor);
};

struct Setup {
  std::vector<float> pilot;  // -1 and 1
  std::int64_t bits = 0;     // of a chain, pilot and payload
  Gains gains{};
  bool differential = false;

  std::int64_t payload() const noexcept { return bits - std::ssize(pilot); }
};

/// Null: not wanted. At least one of the two forms of LLRs is null.
struct Results {
  std::uint8_t* bits = nullptr;
  float* soft = nullptr;
  float* llr = nullptr;
  std::int8_t* whole_llr = nullptr;
};

void run_cpu(const Setup& setup, const cf32* symbols, std::int64_t chains, const Results& results) noexcept;

/// The destinations of a block's results.
inline Results results_of(std::span<const PortIo> out, LlrForm llr) noexcept {
  Results to;
  to.bits = reinterpret_cast<std::uint8_t*>(out[0].data);
  to.soft = reinterpret_cast<float*>(out[1].data);
  if (llr == LlrForm::f32) to.llr = reinterpret_cast<float*>(out[2].data);
  if (llr == LlrForm::i8) to.whole_llr = reinterpret_cast<std::int8_t*>(out[2].data);
  return to;
}

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Setup& setup, LlrForm llr);

}  // namespace iqd::soqpsk_detector
