// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/mimo/detector.hpp"
#include "signal/formats/antenna_bits.hpp"

/// What all detector stages share: keys, shapes, and the output counts on the CPU.
namespace iqd::mimo {

inline constexpr std::string_view kByPort = "port";

/// Sets the alphabets; false if it reported a problem.
inline bool set_alphabets(const ShapeContext& context, const DetectorKeys& keys, DetectorShape& shape) {
  const auto wrong = [&](std::string_view key, std::string what) {
    context.section.problem(key, std::move(what));
    return false;
  };
  shape.by_port = keys.modulation == std::vector<std::string>{std::string(kByPort)};
  const PortShape& sent = context.in[4];
  if (shape.by_port == sent.item.empty())
    return wrong("modulation", shape.by_port ? "'port' needs the input 'modulation': connect it with `from`"
                                             : "the input 'modulation' is read with `modulation: port` only");
  const auto bits = shape.by_port ? AntennaBits() : AntennaBits::of_words(keys.modulation, shape.tx);
  if (!bits)
    return wrong("modulation", fmt::format("has to be qpsk, 16qam, 64qam, 256qam or silent, one for all {} antennas or "
                                           "one for each; or port",
                                           shape.tx));
  if (shape.by_port && (sent.item_size() != shape.tx || sent.axis_name != context.in[0].axis_name))
    return wrong("", fmt::format("input 'modulation' has to be [{}][tx {}]; it is {}", context.in[0].axis_name,
                                 shape.tx, sent.text()));
  const auto most = AntennaBits::bits_of_word(keys.max_modulation);
  if (keys.max_modulation.empty() ? shape.by_port || bits->most() == 0 : !most || *most < std::max(bits->most(), 1))
    return wrong("max_modulation", "has to be the largest modulation that may come: qpsk, 16qam, 64qam or 256qam");
  shape.bits = keys.max_modulation.empty() ? bits->most() : *most;
  shape.mixed = shape.by_port || !bits->are_all(shape.bits);
  shape.sent = Alphabets::of(*bits, shape.bits);
  return true;
}

/// Checks the inputs and describes the outputs; false if it reported a problem.
inline bool shape_detector(ShapeContext& context, const DetectorKeys& keys, DetectorShape& shape) {
  const PortShape &y = context.in[0], &h = context.in[1], &noise = context.in[2];
  const auto wrong = [&](const PortShape& port, std::string_view what) {
    context.section.problem("", fmt::format("{}; it is {}", what, port.text()));
    return false;
  };
  if (y.item.empty()) return wrong(y, "input 'y' has to be [vector][rx]");
  if (h.item.size() < 2) return wrong(h, "input 'h' has to be [group][rx][tx]");
  shape.rx = static_cast<int>(std::min<std::int64_t>(y.item.back().extent, kMostAntennas + 1));
  shape.tx = static_cast<int>(std::min<std::int64_t>(h.item.back().extent, kMostAntennas + 1));
  if (h.item[h.item.size() - 2].extent != y.item.back().extent)
    return wrong(h, fmt::format("input 'h' has to have the {} receive antennas of y", y.item.back().extent));
  if (shape.tx > shape.rx || shape.rx > kMostAntennas)
    return wrong(
        h, fmt::format("input 'h' has to have 1 to {} receive antennas, and no more transmit antennas", kMostAntennas));
  if (!set_alphabets(context, keys, shape)) return false;
  shape.form = keys.llr;
  shape.llr_scale = static_cast<float>(keys.llr_scale);
  shape.extrinsic = keys.extrinsic;
  shape.vectors = y.item_size() / shape.rx;
  shape.groups = h.item_size() / (shape.rx * shape.tx);
  shape.noises = noise.item_size();
  shape.most = context.most_new * shape.vectors;
  if (shape.vectors % shape.groups != 0)
    return wrong(h, "the groups of input 'h' do not divide the vectors of y evenly");
  if (shape.vectors % shape.noises != 0)
    return wrong(noise, "the values of input 'noise' do not divide the vectors of y evenly");

  const PortShape& prior = context.in[3];
  shape.prior = !prior.item.empty();
  if (shape.prior && prior.item_size() != shape.vectors * shape.llrs())
    return wrong(prior, fmt::format("input 'prior' has to have the {} LLRs of an item of y, [vector][tx][bit]",
                                    shape.vectors * shape.llrs()));

  PortShape llr = y;
  llr.item.pop_back();
  for (std::size_t o : {kLlr, kBits, kDistance}) context.out[o] = llr;
  for (std::size_t o : {kLlr, kBits}) {
    context.out[o].item.push_back({"tx", shape.tx});
    context.out[o].item.push_back({"bit", shape.bits});
  }
  constexpr Element kForms[] = {Element::f32, Element::f16, Element::i8};
  context.out[kLlr].element = kForms[static_cast<std::size_t>(keys.llr)];
  if (keys.llr == LlrForm::i8) context.out[kLlr].llr_scale = keys.llr_scale;
  context.out[kBits].element = Element::u8;
  context.out[kDistance].element = Element::f32;
  context.out[kEvents].tally(kDetectorEvents);
  return true;
}

class DetectorStage : public Stage {
 public:
  void fields(FieldVisitor& visitor) override { keys_.fields(visitor); }
  void shape(ShapeContext& context) override { shape_detector(context, keys_, shape_); }

 protected:
  const DetectorShape& detector_shape() const noexcept { return shape_; }

 private:
  DetectorKeys keys_;
  DetectorShape shape_;
};

/// The stage of a detector with keys of its own.
template <class Config> class DetectorStageWith : public DetectorStage {
 public:
  void fields(FieldVisitor& visitor) override {
    DetectorStage::fields(visitor);
    config_.fields(visitor);
  }

 protected:
  const Config& config() const noexcept { return config_; }

 private:
  Config config_;
};

/// The key of detectors that may lack a path for one value of a bit.
inline void clip_field(FieldVisitor& v, double& clip) {
  v.field("clip", clip,
          {.help = "largest |LLR|, also where no path has the other value", .low = 0.1, .high = 1e6, .live = true});
}

/// On the CPU: `run(shape, keys…, job, batch, scratch)` fills llr, bits and distance, and returns the number of erased
/// vectors.
template <class Run, class... Keys>
std::unique_ptr<StageRun> detector_cpu_run(Run run, const DetectorShape& shape, const Keys&... keys) {
  return cpu_run([run, shape, keys...](const StageIo& io) noexcept {
    const DetectorJob job = job_of(io);
    const Batch batch = batch_of(shape, job);
    const std::int64_t erased = run(shape, keys..., job, batch, io.scratch);
    for (const std::size_t o : {kLlr, kBits, kDistance})
      *job.counts[o] = static_cast<std::int32_t>(batch.vectors / shape.vectors);
    *job.counts[kEvents] = 1;
    job.events[kVectors] = batch.vectors;
    job.events[kErased] = erased;
  });
}

inline std::vector<InputSpec> detector_inputs() {
  return {{.name = "y", .elements = {Element::cf32}, .dims = "[vector][rx]", .nested = true, .example = {{"rx", 4}}},
          {.name = "h",
           .elements = {Element::cf32},
           .dims = "[group][rx][tx]",
           .nested = true,
           .example = {{"rx", 4}, {"tx", 4}}},
          {.name = "noise", .elements = {Element::f32}, .dims = "[group]", .nested = true, .variance = true},
          {.name = "prior",
           .elements = {Element::f32},
           .dims = "[vector][tx][bit]",
           .optional = true,
           .nested = true,
           .example = {{"tx", 4}, {"bit", 2}}},
          {.name = "modulation", .elements = {Element::u8}, .dims = "[vector][tx]", .optional = true, .nested = true}};
}
inline std::vector<OutputSpec> detector_outputs() {
  return {{.name = "llr"},
          {.name = "bits", .can_omit = true},
          {.name = "distance", .can_omit = true},
          {.name = "events", .tally = kDetectorEvents}};
}

inline StageEntry detector_entry(std::string_view name, std::string_view summary, std::unique_ptr<Stage> (*make)(),
                                 std::string_view sample, double tolerance) {
  return {.family = "mimo",
          .name = name,
          .summary = summary,
          .inputs = detector_inputs(),
          .outputs = detector_outputs(),
          .make = make,
          .sample = sample,
          .tolerance = tolerance};
}

}  // namespace iqd::mimo
