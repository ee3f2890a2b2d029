// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>
#include <vector>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/coding/ldpc_decoder/ldpc_decoder.hpp"
#include "pipeline/stages/modulations.hpp"

namespace iqd::ldpc_decoder {
namespace {

class LdpcDecoderStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (!check_code(config_.code, false, context.section)) return;
    code_ = *config_.code.words();
    if (!check_frame(config_.frame, code_.code, context.section)) return;
    const WordFrame frame = config_.frame.frame(code_.code);
    if (!frame.marker.empty() && config_.interleave != Interleave::off)
      return context.section.problem("asm", "words that are interleaved have no marker; remove the key");
    if (config_.interleave == Interleave::user) {
      if (!context.in[1].item.empty())
        return context.section.problem("interleave", "'user' takes no input 'modulation'");
      if (!set_users(in, code_.n(), context.section)) return;
    } else if (!set_antennas(context)) {
      return;
    }
    const bool by_user = setup_.users > 0;
    const std::int64_t elements = setup_.mixed ? in.item_size() / setup_.row * setup_.antennas.sum() : in.item_size();
    const std::int64_t size = frame.size(code_.n());
    const std::int64_t words = by_user ? setup_.of_user[setup_.users - 1].end : elements / size;
    if (in.axis != Axis::counted || !in.rows.empty() || words < 1)
      return context.section.problem(
          "", fmt::format("needs items of at least {} LLRs, such as [word][n]; its input is {}", size, in.text()));
    if (context.most_new > std::numeric_limits<std::int32_t>::max() / words)
      return context.section.problem(
          "", fmt::format("has too many words in a block; set a smaller `block`; its input is {}", in.text()));
    const bool interleaved = config_.interleave == Interleave::frame;
    setup_.iterations = config_.iterations > 0 ? static_cast<int>(config_.iterations) : code_.code.iterations;
    setup_.scale = static_cast<float>(config_.scale);
    setup_.early_stop = config_.early_stop;
    setup_.element = in.element;
    setup_.item = in.item_size();
    setup_.words = words;
    setup_.step = interleaved ? words : 1;
    setup_.most = context.most_new * words;
    setup_.marker = static_cast<std::int32_t>(frame.marker.size());
    setup_.is_randomized = frame.is_randomized;
    setup_.unit = in.llr_scale > 0 ? static_cast<float>(in.llr_scale) : 1.0f;
    context.scratch_bytes = Decoder::scratch_bytes(code_.code);
    declare(context.out, code_, words, !by_user && !setup_.mixed && setup_.item == size);
    for (const std::size_t o : {kPosterior, kExtrinsic}) context.out[o].hold(Element::f32, in.item);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "ldpc_decoder")) return cuda(setup_, code_);
    return cpu_run([decoder = Decoder(setup_, code_), words = setup_.words](const StageIo& io) noexcept {
      const std::int64_t all = *io.in[0].count * words;
      auto* const events = io.out[kTally].row<std::int64_t>();
      const Decoder::Counts counts = decoder.decode(job_of(io), all, io.scratch);
      events[kWords] = counts.words;
      events[kFailed] = counts.failed;
      for (const PortIo& out : io.out) *out.count = *io.in[0].count;
      *io.out[kTally].count = 1;
    });
  }

 private:
  /// Alphabets of antennas that may differ; with the input `modulation`, the largest that there may be. False if it
  /// reported a problem.
  bool set_antennas(const ShapeContext& context) {
    setup_ = {};
    const PortShape &in = context.in[0], &sent = context.in[1];
    if (config_.modulation.empty() && sent.item.empty()) return true;
    if (config_.interleave != Interleave::frame) {
      context.section.problem("modulation", "is for `interleave: user` and `interleave: frame`; remove the key");
      return false;
    }
    const auto antennas = dsp::antennas_of(config_.modulation, in, sent, context.section);
    if (!antennas) return false;
    setup_.tx = static_cast<std::int32_t>(in.item[in.item.size() - 2].extent);
    setup_.row = setup_.tx * antennas->most;
    setup_.antennas = *antennas;
    setup_.mixed = !sent.item.empty() || antennas->sum() != setup_.row;
    return true;
  }

  /// Each user's words of n bits; false if it reported a problem.
  bool set_users(const PortShape& in, std::int64_t n, const Section& section) {
    if (in.item.size() != 3 || in.item[0].extent > kMostUsers) {
      section.problem("interleave", fmt::format("'user' needs LLRs [user][t][bit] of at most {} users; the input is {}",
                                                kMostUsers, in.text()));
      return false;
    }
    const std::int64_t users = in.item[0].extent, points = in.item[1].extent, row = in.item[2].extent;
    std::vector<SymbolMap> maps;
    if (!config_.modulation.empty()) {
      maps = dsp::maps_of(config_.modulation, users, section);
      if (maps.empty()) return false;
    }
    setup_ = {};
    setup_.users = static_cast<std::int32_t>(users), setup_.row = static_cast<std::int32_t>(row);
    std::int32_t end = 0;
    for (std::int64_t u = 0; u < users; ++u) {
      const std::int64_t bits = maps.empty() ? row : bits_of(maps[static_cast<std::size_t>(u)]);
      if (bits > row) {
        section.problem("modulation",
                        fmt::format("has {} bits for user {}, but its points have only {} LLRs", bits, u, row));
        return false;
      }
      const std::int64_t own = points * bits / n;
      if (own < 1) {
        section.problem("", fmt::format("a word has {} bits, but user {} has only {} LLRs", n, u, points * bits));
        return false;
      }
      end += static_cast<std::int32_t>(own);
      setup_.of_user[u] = {
          .end = end, .words = static_cast<std::int32_t>(own), .bits = static_cast<std::int32_t>(bits)};
    }
    return true;
  }

  static void declare(std::span<PortShape> out, const WordCode& code, std::int64_t words, bool item_is_word) {
    for (PortShape& port : out) port.item.clear(), port.llr_scale = 0;
    out[kBits].element = out[kFailedWords].element = Element::u8;
    out[kIterations].element = Element::i32;
    out[kLlrOut].element = Element::f32;
    if (!item_is_word)
      for (const std::size_t o : {kBits, kIterations, kFailedWords, kLlrOut}) out[o].item = {{"word", words}};
    out[kLlrOut].item.push_back({"n", code.n()});
    out[kBits].item.push_back({"bit", code.information()});
    out[kTally].tally(kEvents);
  }

  Setup setup_;
  WordCode code_;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  code_fields(v, code);
  frame_fields(v, frame);
  v.field(
      "iterations", iterations,
      {.help = "most iterations for a word; 0: 15, or 50 with the codes irig_…", .low = 0, .high = 1000, .live = true});
  v.field("scale", scale,
          {.help = "factor of a check's message, which min-sum overestimates", .low = 0, .high = 1, .live = true});
  v.field("early_stop", early_stop, {.help = "end a word as soon as all its checks hold", .live = true});
  v.field("interleave", interleave,
          {.help = "the words of an item are interleaved bit by bit, as in the frames of ofdm_modulator (frame), or "
                   "those of each user, as in the frames of noma_modulator (user)"});
  v.field(
      "modulation", modulation,
      {.help = "of all users or antennas or, as a list, of each; with interleave: user or frame. Empty: all LLRs of a "
               "point are bits, or the input `modulation` says how many"});
}

StageEntry entry() {
  return {
      .family = "coding",
      .name = "ldpc_decoder",
      .summary = "decodes LDPC words by layered min-sum",
      .inputs =
          {{.name = "llr",
            .elements = {Element::f32, Element::f16, Element::i8},
            .dims = "[word][n]",
            .nested = true,
            .example = {{"n", 2304}}},
           {.name = "modulation", .elements = {Element::u8}, .dims = "[frame][tx]", .optional = true, .nested = true}},
      .outputs = {{.name = "bits"},
                  {.name = "iterations", .can_omit = true},
                  {.name = "events", .tally = kEvents},
                  {.name = "posterior", .can_omit = true},
                  {.name = "extrinsic", .can_omit = true},
                  {.name = "failed", .can_omit = true},
                  {.name = "llr_out", .can_omit = true}},
      .make = make_stage<LdpcDecoderStage>,
      .sample = "ldpc_decoder: {iterations: 15}",
      .tolerance = 0};
}

}  // namespace iqd::ldpc_decoder
