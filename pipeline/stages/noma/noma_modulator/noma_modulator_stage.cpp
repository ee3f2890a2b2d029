// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "pipeline/stages/code_keys.hpp"
#include "pipeline/stages/frame_modulator.hpp"
#include "pipeline/stages/modulations.hpp"
#include "pipeline/stages/noma/noma_keys.hpp"
#include "pipeline/stages/noma/noma_modulator/noma_modulator.hpp"

namespace iqd::noma_modulator {
namespace {

class NomaModulatorStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    dsp::check_bits_or_samples(context);
    if (!noma::check_format(config_.format, context.section) || !check_users(context.section)) return;
    const std::vector<SymbolMap> maps = dsp::maps_of(config_.modulation, config_.format.users, context.section);
    if (maps.empty() || !check_code(config_.code, true, context.section) ||
        !noma::holds_words(config_.format, maps, config_.code.words(), context.section))
      return;
    frames_ = std::make_shared<const Frames>(config_, maps);
    context.scratch_bytes = frames_->scratch_bytes();
    of_bits_ = context.in[0].element == Element::u8;
    dsp::shape_frames(context, frames_->rows(), frames_->bits(), config_.format.air.frame,
                      "applies to cf32 input only; with u8 input the frames carry the input bits: remove the key");
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    require_cpu(backend, "noma_modulator runs on the CPU only: set `backend: cpu`");
    return dsp::frames_cpu_run(frames_, of_bits_);
  }

 private:
  bool check_users(const Section& section) const {
    const std::int64_t users = config_.format.users;
    const std::size_t given = config_.amplitude.size();
    if (given != 1 && given != static_cast<std::size_t>(users))
      section.problem("amplitude", fmt::format("has to be one number for all {} users, or one for each; there are {}",
                                               users, given));
    else if (config_.user >= users)
      section.problem(
          "user", fmt::format("has to be one of the users 0 to {}, or -1 for all; it is {}", users - 1, config_.user));
    else
      return true;
    return false;
  }

  std::shared_ptr<const Frames> frames_;
  bool of_bits_ = false;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("amplitude", amplitude,
          {.help = "rms amplitude of all users or, as a list, of each", .low = 0, .live = true});
  v.field("user", user,
          {.help = "the only user whose frames are generated; -1: all, one channel each",
           .low = -1,
           .high = NomaFormat::kMostUsers - 1});
  v.field(
      "modulation", modulation,
      {.help = "of all users' data points or, as a list, of each: bpsk, qpsk, 16qam, 64qam, 256qam, mapped as in TS "
               "38.211; BPSK: bit 0 is 1"});
  code_fields(v, code);
  v.field("payload", payload,
          {.help = "pseudo-random sequence that the frames carry; it continues from frame to frame"});
  noma::format_fields(v, format);
}

StageEntry entry() {
  return {.family = "noma",
          .name = "noma_modulator",
          .summary = "generates frames of several users on the same carriers, from bits or with pseudo-random payload",
          .inputs = {{.name = "in", .elements = {Element::cf32, Element::u8}, .one_channel = true}},
          .outputs = {{.name = "out"}},
          .make = make_stage<NomaModulatorStage>,
          .sample =
              "noma_modulator: {fft: 64, carriers: 24, prefix: 9, frame: 512, users: 2, training: 2, pilots: 40, "
              "data: 60}",
          .host_only = true,
          .tolerance = 2e-6};
}

}  // namespace iqd::noma_modulator
