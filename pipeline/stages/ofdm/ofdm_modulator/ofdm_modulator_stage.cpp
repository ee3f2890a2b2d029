// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stage/stage.hpp"
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
    const PortShape& in = context.in[0];
    if (in.axis != Axis::stream || !in.item.empty())
      context.section.problem("", fmt::format("takes single bits or samples, [n]; its input is {}", in.text()));
    if (!ofdm::check_format(config_.format, context.section) || !holds_a_word(context.section)) return;
    frames_ = std::make_shared<const Frames>(config_);
    context.scratch_bytes = frames_->scratch_bytes();
    PortShape& out = context.out[0];
    out.rows.clear();
    if (config_.format.tx > 1) out.rows.push_back({"channel", config_.format.tx});
    of_bits_ = in.element == Element::u8;
    if (of_bits_) shape_of_bits(context);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* const cuda = device_half<CudaHalf>(backend, "ofdm_modulator"))
      return cuda(*frames_, checks_of(frames_->bits().code()), of_bits_);
    if (of_bits_)
      return cpu_run([frames = frames_](const StageIo& io) noexcept {
        const PortIo &in = io.in[0], &out = io.out[0];
        frames->modulate({reinterpret_cast<const std::uint8_t*>(in.data), static_cast<std::size_t>(in.length)},
                         in.first, out.as<cf32>(), out.first, io.scratch);
      });
    return cpu_run([frames = frames_](const StageIo& io) noexcept {
      frames->make(io.out[0].as<cf32>(), io.out[0].first, io.scratch);
    });
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

  void shape_of_bits(ShapeContext& context) const {
    const std::int64_t granule = frames_->bits().information(), frame = config_.format.frame;
    context.footprint[0] = {.granule = granule, .yield = frame, .whole = true};
    context.out[0].element = Element::cf32;
    context.out[0].rate_hz = context.in[0].rate_hz * static_cast<double>(frame) / static_cast<double>(granule);
    if (context.section.has("payload"))
      context.section.problem("payload",
                              "is for a cf32 input; with a u8 input, the frames carry the bits of the input; "
                              "remove the key");
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
