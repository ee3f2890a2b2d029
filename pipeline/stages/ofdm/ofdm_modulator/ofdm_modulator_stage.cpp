// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stages/frame_modulator.hpp"
#include "pipeline/stages/ofdm/ofdm_keys.hpp"
#include "pipeline/stages/ofdm/ofdm_modulator/ofdm_modulator.hpp"

namespace iqd::ofdm_modulator {
namespace {

/// Encodes each information bit separately: a word is the sum of its bits' words.
std::vector<std::uint32_t> checks_of(const LdpcCode* code) {
  if (code == nullptr) return {};
  const auto n = static_cast<std::size_t>(code->n()), k = static_cast<std::size_t>(code->k());
  std::vector<std::uint32_t> checks((k + 31) / 32 * (n - k));
  std::vector<std::uint8_t> bits(k), word(n);
  for (std::size_t i = 0; i < k; ++i) {
    bits[i] = 1;
    ldpc_encode(*code, bits, word);
    bits[i] = 0;
    for (std::size_t p = 0; p < n - k; ++p)
      checks[i / 32 * (n - k) + p] |= static_cast<std::uint32_t>(word[k + p]) << (i % 32);
  }
  return checks;
}

class OfdmModulatorStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    dsp::check_bits_or_samples(context);
    if (!ofdm::check_format(config_.format, context.section) || !holds_a_word(context.section)) return;
    frames_ = std::make_shared<const Frames>(config_);
    context.scratch_bytes = frames_->scratch_bytes();
    of_bits_ = context.in[0].element == Element::u8;
    dsp::shape_frames(context, config_.format.tx, frames_->bits().information(), config_.format.frame,
                      "is for a cf32 input; with a u8 input, the frames carry the bits of the input; remove the key");
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* const cuda = device_half<CudaHalf>(backend, "ofdm_modulator"))
      return cuda(*frames_, checks_of(frames_->bits().code()), of_bits_);
    return dsp::frames_cpu_run(frames_, of_bits_);
  }

 private:
  /// Also true without a code.
  bool holds_a_word(const Section& section) const {
    const LdpcCode* const code = code_of(config_.code);
    const std::int64_t bits = config_.format.bits(config_.modulation);
    if (code == nullptr || bits >= code->n()) return true;
    section.problem("code", fmt::format("a word has {} bits, but a frame only {}; use longer frames or another "
                                        "modulation",
                                        code->n(), bits));
    return false;
  }

  std::shared_ptr<const Frames> frames_;
  bool of_bits_ = false;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("amplitude", amplitude, {.help = "rms amplitude of each antenna", .low = 0, .live = true});
  ofdm::format_fields(v, format);
  v.field("modulation", modulation, {.help = "modulation of all data carriers, mapped as in TS 38.211"});
  v.field("code", code, {.help = "error-correcting code of the data bits"});
  v.field("payload", payload, {.help = "pseudo-random payload, which continues from frame to frame"});
}

StageEntry entry() {
  return {.family = "ofdm",
          .name = "ofdm_modulator",
          .summary = "generates OFDM frames for several antennas, from bits or with pseudo-random payload",
          .inputs = {{.name = "in", .elements = {Element::cf32, Element::u8}, .one_channel = true}},
          .outputs = {{.name = "out"}},
          .make = make_stage<OfdmModulatorStage>,
          .sample = "ofdm_modulator: {fft: 128, carriers: 72, prefix: 9, frame: 960, pilot_every: 12}",
          .tolerance = 2e-6};
}

}  // namespace iqd::ofdm_modulator
