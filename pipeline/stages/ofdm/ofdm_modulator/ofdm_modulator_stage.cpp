// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stages/frame_modulator.hpp"
#include "pipeline/stages/ofdm/ofdm_keys.hpp"
#include "pipeline/stages/ofdm/ofdm_modulator/ofdm_modulator.hpp"

namespace iqd::ofdm_modulator {
namespace {

/// Encodes each information bit separately: a word is the sum of its bits' words.
WordSums sums_of(const WordEncoder* encoder) {
  if (encoder == nullptr) return {};
  const WordCode& code = encoder->code();
  WordSums sums;
  for (int i = 0; i < code.n(); ++i) sums.bits.push_back(0);
  std::vector<std::size_t> summed;  // bits of a word
  for (int turn = 0; turn < code.n(); ++turn) {
    const int position = code.sent.position_of(turn);
    const auto place = static_cast<std::size_t>(code.sent.place_of(turn));
    const bool information = position < code.information();
    sums.bits[place] = information ? position : code.information() + sums.sums++;
    if (!information) summed.push_back(place);
  }
  const auto k = static_cast<std::size_t>(code.information());
  sums.masks.resize((k + 31) / 32 * summed.size());
  std::vector<std::uint8_t> bits(k), word(static_cast<std::size_t>(code.n())), scratch(encoder->scratch_bytes());
  for (std::size_t i = 0; i < k; ++i) {
    bits[i] = 1;
    encoder->encode(bits, word, scratch);
    bits[i] = 0;
    for (std::size_t s = 0; s < summed.size(); ++s)
      sums.masks[i / 32 * summed.size() + s] |= static_cast<std::uint32_t>(word[summed[s]]) << (i % 32);
  }
  return sums;
}

class OfdmModulatorStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    dsp::check_bits_or_samples(context);
    if (!ofdm::check_format(config_.format, context.section) || !check_code(config_.code, true, context.section) ||
        !takes_modulation(context.section))
      return;
    frames_ = std::make_shared<const Frames>(config_, modulation_);
    context.scratch_bytes = frames_->scratch_bytes();
    of_bits_ = context.in[0].element == Element::u8;
    dsp::shape_frames(context, config_.format.tx, frames_->bits().information(), config_.format.frame,
                      "is for a cf32 input; with a u8 input, the frames carry the bits of the input; remove the key");
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* const cuda = device_half<CudaHalf>(backend, "ofdm_modulator"))
      return cuda(*frames_, sums_of(frames_->bits().encoder()), of_bits_);
    return dsp::frames_cpu_run(frames_, of_bits_);
  }

 private:
  /// Reports a modulation that does not fit, or frames too short for a word of the code, which may be none.
  bool takes_modulation(const Section& section) {
    const auto modulation = ofdm::modulation_of(config_.modulation, config_.format.tx, section);
    if (!modulation) return false;
    modulation_ = *modulation;
    const std::optional<WordCode> code = config_.code.words();
    const std::int64_t bits = config_.format.bits(modulation_);
    if (!code || bits >= code->n()) return true;
    section.problem(config_.code.is_nr ? "nr.e" : "code",
                    fmt::format("a word has {} bits, but a frame only {}; use longer frames or another "
                                "modulation",
                                code->n(), bits));
    return false;
  }

  AntennaBits modulation_;
  std::shared_ptr<const Frames> frames_;
  bool of_bits_ = false;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("amplitude", amplitude, {.help = "rms amplitude of each antenna", .low = 0, .live = true});
  ofdm::format_fields(v, format);
  v.field(
      "modulation", modulation,
      {.help = "of all antennas or, as a list, of each: qpsk, 16qam, 64qam, 256qam, mapped as in TS 38.211, or silent: "
               "no data",
       .live = true});
  v.field("announce", announce,
          {.help = "the synchronisation symbol says which modulation each antenna has", .live = true});
  code_fields(v, code);
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
