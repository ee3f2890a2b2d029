// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "pipeline/stages/telemetry/packet_keys.hpp"
#include "pipeline/stages/telemetry/packet_quality/packet_quality_cpu.hpp"

namespace iqd::packet_quality {
namespace {

/// Items `[kind]…`: how many kinds there are.
std::int64_t kinds_of(const PortShape& port) {
  return !port.item.empty() && port.item[0].name == "kind" ? port.item[0].extent : 1;
}

/// An optional input that is connected.
bool is_there(const PortShape& port) {
  return port.axis == Axis::counted;
}

void run_block(const Quality& quality, const StageIo& io) noexcept {
  const Setup& setup = quality.setup();
  std::int32_t count = *io.in[kSoft].count;
  for (const PortIo& in : io.in.subspan(1))
    if (in.count) count = std::min(count, *in.count);
  const auto* const soft = io.in[kSoft].row<const float>();
  auto* const bep = io.out[kBep].row<float>();
  auto* const segments = io.out[kSegmentBep].row<float>();
  auto* const dqm = io.out[kDqm].row<float>();
  for (std::int64_t p = 0; p < count; ++p)
    quality.run({.soft = soft + p * setup.kinds * setup.bits,
                 .channel = setup.has_channel ? io.in[kChannel].row<const cf32>() + p * setup.taps : nullptr,
                 .noise = setup.has_channel ? io.in[kNoise].row<const float>() + p : nullptr,
                 .bep = bep + p * setup.kinds,
                 .segments = segments + p * setup.kinds * kSegments,
                 .dqm = dqm + p},
                io.scratch);
  for (const Output o : {kBep, kSegmentBep, kDqm}) *io.out[o].count = count;
  *io.out[kFrames].count = 0;
  if (setup.frames.payload == 0) return;
  auto* const rest = reinterpret_cast<Rest*>(io.carry);
  if (rest && io.fresh) *rest = {};
  auto* const rest_bits = reinterpret_cast<std::uint8_t*>(rest ? rest + 1 : nullptr);
  const FrameJob job{.setup = setup.frames,
                     .segment_kinds = setup.kinds,
                     .segment_kind = setup.kind,
                     .segments = segments,
                     .bits = io.in[kBits].row<const std::uint8_t>(),
                     .failed = setup.frames.words > 0 ? io.in[kFailed].row<const std::uint8_t>() : nullptr,
                     .rest = rest_bits,
                     .before = rest ? *rest : Rest{},
                     .packets = count};
  Rest after{};
  *io.out[kFrames].count = make_frames(job, io.out[kFrames].row<std::uint8_t>(), after, rest_bits);
  if (rest) *rest = after;
}

class PacketQualityStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const std::size_t before = context.section.problems().size();
    if (!telemetry::check_packets(config_.packet, context.section)) return;
    setup_ = {};
    setup_.bits = config_.packet.bits();
    setup_.payload = config_.packet.payload_bits;
    setup_.samples_per_bit = static_cast<int>(config_.packet.samples_per_bit);
    read_soft(context);
    read_channel(context);
    read_bits(context);
    if (context.section.problems().size() > before) return;
    set_reference(setup_);
    most_ = context.most_new;
    declare(context);
    context.scratch_bytes = Quality::scratch_bytes(setup_);
    const FrameSetup& frames = setup_.frames;
    context.carry_bytes = frames.carries() ? sizeof(Rest) + static_cast<std::size_t>(frames.payload) : 0;
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "packet_quality")) return cuda(setup_, most_);
    return cpu_run(
        [quality = std::make_shared<const Quality>(setup_)](const StageIo& io) noexcept { run_block(*quality, io); });
  }

 private:
  void read_soft(const ShapeContext& context) {
    const PortShape& soft = context.in[kSoft];
    if (setup_.payload < kSegments)
      context.section.problem("payload_bits",
                              fmt::format("has to be {} or more: each sixteenth of a packet has a figure", kSegments));
    if (soft.axis != Axis::counted || soft.item.size() != 2 || soft.item[1].extent != setup_.bits)
      return context.section.problem(
          "", fmt::format("needs packets of {} soft values for each kind, [packet][kind][bit]; its input is {}",
                          setup_.bits, soft.text()));
    setup_.kinds = static_cast<int>(soft.item[0].extent);
    if (config_.kind.empty()) return;
    const auto& labels = soft.item[0].labels;
    const auto at = std::ranges::find(labels, config_.kind);
    if (at == labels.end())
      return context.section.problem(
          "kind", fmt::format("'{}' is not among the kinds of the input, {}", config_.kind, fmt::join(labels, ", ")));
    setup_.kind = static_cast<int>(at - labels.begin());
  }

  void read_channel(const ShapeContext& context) {
    const PortShape &channel = context.in[kChannel], &noise = context.in[kNoise];
    setup_.has_channel = is_there(channel);
    if (setup_.has_channel != is_there(noise))
      return context.section.problem("from", "connect both inputs 'channel' and 'noise', or neither");
    if (!setup_.has_channel) return;
    telemetry::check_items(noise, "noise", 1, context.section);
    setup_.taps = static_cast<int>(channel.item_size());
    if (channel.item.size() != 1 || setup_.taps > kReference)
      context.section.problem("", fmt::format("input 'channel' has to be [packet][tap]; it is {}", channel.text()));
  }

  void read_bits(const ShapeContext& context) {
    const PortShape &bits = context.in[kBits], &failed = context.in[kFailed];
    if (!is_there(bits)) {
      if (is_there(failed)) context.section.problem("from", "input 'failed' is of use with input 'bits' only");
      return;
    }
    FrameSetup& frames = setup_.frames;
    frames.kinds = static_cast<int>(kinds_of(bits));
    frames.bits = bits.item_size() / frames.kinds;
    frames.kind = frames.kinds == setup_.kinds ? setup_.kind : 0;
    if (frames.kinds != 1 && frames.kinds != setup_.kinds)
      return context.section.problem(
          "", fmt::format("input 'bits' has {} kinds, input 'soft' {}", frames.kinds, setup_.kinds));
    if (config_.payload % 8 != 0)
      return context.section.problem("payload", "has to be a multiple of 8: frames are bytes");
    frames.payload = config_.payload;
    frames.word = static_cast<int>(config_.word);
    if (!is_there(failed)) return;
    frames.words = static_cast<int>(failed.item_size());
    if (frames.words < 1 || frames.bits % frames.words != 0)
      context.section.problem("", fmt::format("input 'failed' has to be [packet][word], of the words of 'bits'; it is "
                                              "{}, 'bits' is {}",
                                              failed.text(), bits.text()));
  }

  void declare(const ShapeContext& context) const {
    const Dim kinds = context.in[kSoft].item[0];
    context.out[kBep].hold(Element::f32, {kinds});
    context.out[kSegmentBep].hold(Element::f32, {kinds, {"segment", kSegments}});
    context.out[kDqm].hold(Element::f32, {});
    for (const Output o : {kBep, kSegmentBep, kDqm}) context.out[o].most = most_;
    const FrameSetup& frames = setup_.frames;
    const std::int64_t bytes = frames.payload > 0 ? frames.frame_bytes() : kHeaderBytes;
    const std::int64_t most = frames.payload > 0 ? (most_ * frames.bits + frames.payload - 1) / frames.payload : 1;
    context.out[kFrames].hold(Element::u8, {{"byte", bytes}});
    context.out[kFrames].count_items("frame", most);
  }

  Setup setup_;
  std::int64_t most_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("kind", kind, {.help = "the equalizer whose DQM and frames are put out; none: the first"});
  v.field(
      "payload", payload,
      {.help = "bits of a frame, a multiple of 8; 2048 lets no frame cross an iNET packet", .low = 8, .high = 1 << 20});
  v.field("word", word,
          {.help = "the second word of a frame's header, which receivers ignore", .low = 0, .high = 65535});
  telemetry::packet_fields(v, packet);
}

StageEntry entry() {
  return {
      .family = "telemetry",
      .name = "packet_quality",
      .summary = "estimates the bit error probability of packets, and frames their bits with it",
      .inputs =
          {{.name = "soft",
            .elements = {Element::f32},
            .dims = "[packet][kind][bit]",
            .example = {{"kind", 2}, {"bit", 6336}}},
           {.name = "channel",
            .elements = {Element::cf32},
            .dims = "[packet][tap]",
            .optional = true,
            .example = {{"tap", 38}}},
           {.name = "noise",
            .elements = {Element::f32},
            .dims = "[packet]",
            .optional = true,
            .nested = true,
            .variance = true,
            .example = {{"one", 1}}},
           {.name = "bits",
            .elements = {Element::u8},
            .dims = "[packet][kind][bit]",
            .optional = true,
            .nested = true,
            .example = {{"kind", 2}, {"bit", 6144}}},
           {.name = "failed", .elements = {Element::u8}, .dims = "[packet][word]", .optional = true, .nested = true}},
      .outputs = {{.name = "bep"},
                  {.name = "segments"},
                  {.name = "dqm", .fact = "dqm", .levels = true},
                  {.name = "frames"}},
      .make = make_stage<PacketQualityStage>,
      .sample = "packet_quality: {payload: 4096}",
      .tolerance = 1e-4};
}

}  // namespace iqd::packet_quality
