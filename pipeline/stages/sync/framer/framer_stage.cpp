// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "config/quantity.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/framer/framer.hpp"

namespace iqd::framer {
namespace {

constexpr std::size_t kShortest = 8, kLongest = 512;  // patterns, in chips
constexpr std::size_t kMostOfBit = 32;
constexpr double kFewest = 2, kMost = 4096;                // samples a chip
constexpr std::int64_t kFarthest = std::int64_t{1} << 24;  // samples of a frame

void run_block(const Plan& plan, const StageIo& io) noexcept {
  const PortIo& in = io.in[0];
  Output out{.bytes = io.out[kBytes].row<std::uint8_t>(),
             .start = io.out[kStart].row<std::int64_t>(),
             .length = io.out[kLength].row<std::int32_t>(),
             .metric = io.out[kMetric].row<float>()};
  run_cpu(plan, in.as<const float>().row(0), io.first_new - in.first, io.end_new - in.first, io.scratch, out);
  const auto good = static_cast<std::int32_t>(out.events[0]);
  for (std::int32_t i = 0; i < good; ++i) out.start[i] += in.first;
  for (const Port port : {kBytes, kStart, kLength, kMetric}) *io.out[port].count = good;
  io.out[kTally].put_tally(out.events);
}

class FramerStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    const std::size_t before = context.section.problems().size();
    if (in.axis != Axis::stream || !in.item.empty())
      context.section.problem("", fmt::format("the input has to be a stream of levels, f32 [n]; it is {}", in.text()));
    const FrameFormat format = read_format(context.section);
    const double chip = in.rate_hz / config_.chip_rate;
    check(format, chip, in, context.section);
    if (context.section.problems().size() > before) return;
    plan_ = std::make_shared<const Plan>(format, chip, config_.threshold, config_.tracking);
    most_new_ = context.most_new;
    context.footprint[0] = {.past = plan_->past(), .future = plan_->future()};
    context.scratch_bytes = scratch_bytes(*plan_, most_new_);
    set_outputs(context);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "framer")) return cuda(*plan_, most_new_);
    return cpu_run([plan = plan_](const StageIo& io) noexcept { run_block(*plan, io); });
  }

 private:
  FrameFormat read_format(const Section& section) const {
    FrameFormat format;
    const auto chips_of_key = [&](std::string_view key, const std::string& text) {
      auto chips = read_chips(text);
      if (chips.empty() && !text.empty())
        section.problem(
            key, fmt::format("'{}' is neither hexadecimal digits, with or without 0x, nor bits like 0b0110", text));
      return chips;
    };
    format.pattern = chips_of_key("preamble", config_.preamble);
    const auto word = chips_of_key("sync_word", config_.sync_word);
    format.pattern.insert(format.pattern.end(), word.begin(), word.end());
    format.zero = read_chips("0b" + config_.zero);
    format.one = read_chips("0b" + config_.one);
    format.has_length = config_.length == Length::byte;
    format.lsb_first = config_.order == Order::lsb;
    format.bytes = config_.bytes;
    format.crc = crc_of(config_.crc);
    return format;
  }

  static void check(const FrameFormat& format, double chip, const PortShape& in, const Section& section) {
    const std::size_t chips = format.pattern.size();
    const auto ones = std::count(format.pattern.begin(), format.pattern.end(), 1);
    if (chips < kShortest || chips > kLongest)
      section.problem("sync_word", fmt::format("preamble and sync word have {} chips together, not {} to {}", chips,
                                               kShortest, kLongest));
    else if (ones == 0 || ones == std::ssize(format.pattern))
      section.problem("sync_word", "preamble and sync word need both kinds of chips, 0 and 1");
    const std::size_t bit = format.one.size();
    if (bit == 0 || bit > kMostOfBit || format.zero.size() != bit || format.zero == format.one)
      section.problem("one", fmt::format("zero and one have to be different chips, like 0 and 1, equally many, at most "
                                         "{}",
                                         kMostOfBit));
    if (format.has_length && format.bytes > 255)
      section.problem("bytes", "a length byte allows at most 255; use `length: fixed` for more");
    if (!(chip >= kFewest && chip <= kMost))
      return section.problem("chip_rate", fmt::format("{} are {:g} samples a chip, not {} to {}",
                                                      quantity_text(in.rate_hz, Unit::rate), chip, kFewest, kMost));
    if (static_cast<double>(format.chips(format.most_bytes())) * chip > static_cast<double>(kFarthest))
      section.problem("bytes", fmt::format("frames are longer than {} samples: decimate first", kFarthest));
  }

  void set_outputs(ShapeContext& context) const {
    const auto set = [&](Port port, Element element, std::vector<Dim> item) {
      context.out[port].hold(element, std::move(item));
      context.out[port].count_items("packet", plan_->most_packets(most_new_));
    };
    set(kBytes, Element::u8, {{"byte", plan_->format.bytes}});
    set(kStart, Element::i64, {});
    set(kLength, Element::i32, {});
    set(kMetric, Element::f32, {});
    context.out[kTally].tally(kEvents);
  }

  std::shared_ptr<const Plan> plan_;
  std::int64_t most_new_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("chip_rate", chip_rate,
          {.help = "chips a second; a chip is the shortest element sent", .unit = Unit::rate, .required = true});
  v.field("preamble", preamble,
          {.help = "chips at the beginning: hexadecimal, with or without 0x, or like 0b1010; may be empty"});
  v.field("sync_word", sync_word, {.help = "chips after the preamble, in the same notation"});
  v.field("zero", zero, {.help = "the chips of a bit that is 0: 01 for Manchester, 100 for pulse widths"});
  v.field("one", one, {.help = "the chips of a bit that is 1"});
  v.field("length", length, {.help = "byte: the first byte is the payload's length; fixed: it is always `bytes`"});
  v.field("bytes", bytes, {.help = "bytes of payload; with a length byte the maximum", .low = 1, .high = 2048});
  v.field("order", order, {.help = "which bit of a byte is sent first"});
  v.field("crc", crc, {.help = "the checksum after the payload; covers the length byte and the payload"});
  v.field("threshold", threshold, {.help = "the smallest T of a frame", .low = 0, .high = 1});
  v.field("tracking", tracking,
          {.help = "timing-loop gain: share of the measured error applied to the next chip", .low = 0, .high = 0.5});
}

StageEntry entry() {
  return {.family = "sync",
          .name = "framer",
          .summary = "finds frames in a stream of levels and outputs their bytes",
          .inputs = {{.name = "in", .elements = {Element::f32}, .one_channel = true, .reread = true}},
          .outputs = {{.name = "out"},
                      {.name = "start", .fact = "start"},
                      {.name = "length", .fact = "length"},
                      {.name = "metric", .fact = "metric"},
                      {.name = "events", .tally = kEvents}},
          .make = make_stage<FramerStage>,
          .sample = "framer: {chip_rate: 50 kS/s, bytes: 32}",
          .tolerance = 0};
}

}  // namespace iqd::framer
