// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/noma/multiuser/engine.hpp"
#include "pipeline/stages/noma/multiuser/multiuser.hpp"

/// What the stages of all multi-user detectors share: keys, shapes, memory of a block.
namespace iqd::noma {

struct MultiuserKeys {
  SymbolMap modulation = SymbolMap::qpsk;
  LlrForm llr = LlrForm::f32;
  double llr_scale = 0.25;
  std::int64_t users = 0;
  std::vector<std::int64_t> antennas;

  void fields(FieldVisitor& v) {
    v.field("modulation", modulation,
            {.help = "of each user; bpsk has the points 1 and -1, the others are mapped as in TS 38.211"});
    v.field("llr", llr, {.help = "element type of LLRs; i8 saturates at 127, its header has llr_scale"});
    v.field("llr_scale", llr_scale, {.help = "LLR per unit of i8", .low = 1e-3, .high = 1e3});
    v.field("users", users,
            {.help = "required number of users; 0: as many as the pilots have columns", .low = 0, .high = kMostUsers});
    v.field("antennas", antennas,
            {.help = "antennas to use, counted from 0; empty: all", .low = 0, .high = kMostAntennas - 1, .live = true});
  }
};

/// Reads the extents of the inputs; false if it reported a problem.
inline bool read_shapes(const ShapeContext& context, const MultiuserKeys& keys, Method& method) {
  const auto wrong = [&](std::size_t input, std::string_view what) {
    context.section.problem("", fmt::format("{}; it is {}", what, context.in[input].text()));
    return false;
  };
  for (const auto& [input, what] : {std::pair(kTrainRx, "input 'train_rx' has to be [frame][t][antenna]"),
                                    std::pair(kTrainTx, "input 'train_tx' has to be [frame][t][user]"),
                                    std::pair(kRx, "input 'rx' has to be [frame][t][antenna]")})
    if (context.in[input].item.size() != 2) return wrong(input, what);
  const auto extent = [&](std::size_t input, std::size_t d) { return context.in[input].item[d].extent; };
  const std::int64_t pilots = extent(kTrainRx, 0), antennas = extent(kTrainRx, 1), users = extent(kTrainTx, 1);
  if (pilots < 1) return wrong(kTrainRx, "input 'train_rx' has no pilots to train with");
  if (extent(kTrainTx, 0) != pilots)
    return wrong(kTrainTx, fmt::format("input 'train_tx' has to have the {} pilots of train_rx", pilots));
  if (extent(kRx, 1) != antennas)
    return wrong(kRx, fmt::format("input 'rx' has to have the {} antennas of train_rx", antennas));
  if (antennas < 1 || antennas > kMostAntennas)
    return wrong(kTrainRx, fmt::format("input 'train_rx' has to have 1 to {} antennas", kMostAntennas));
  if (users < 1 || users > kMostUsers)
    return wrong(kTrainTx, fmt::format("input 'train_tx' has to have 1 to {} users", kMostUsers));
  if (keys.users != 0 && keys.users != users) {
    context.section.problem("users", fmt::format("is {}, but 'train_tx' has columns for {}", keys.users, users));
    return false;
  }
  method.antennas = static_cast<int>(antennas);
  method.users = static_cast<int>(users);
  method.pilots = method.dictionary = method.kernels = pilots;
  method.data = extent(kRx, 0);
  method.most = context.most_new;
  method.map = keys.modulation;
  method.form = keys.llr;
  method.llr_scale = static_cast<float>(keys.llr_scale);
  for (const std::int64_t a : keys.antennas)
    if (a >= antennas) {
      context.section.problem("antennas",
                              fmt::format("there is no antenna {}: the input has {}, counted from 0", a, antennas));
      return false;
    }
  method.used.fill(false);
  for (std::int64_t a = 0; a < antennas; ++a)
    method.used[static_cast<std::size_t>(a)] = keys.antennas.empty() || std::ranges::count(keys.antennas, a) > 0;
  method.used_count = static_cast<int>(std::ranges::count(method.used, true));
  return true;
}

/// Checks an input `[rows][columns]` whose items may each serve several frames; false if it reported a problem.
inline bool check_side_input(const ShapeContext& context, std::size_t input, std::string_view what,
                             std::initializer_list<std::int64_t> extents) {
  const PortShape& port = context.in[input];
  if (std::ranges::equal(port.item, extents, {}, &Dim::extent)) return true;
  context.section.problem("", fmt::format("{}; it is {}", what, port.text()));
  return false;
}

inline void shape_outputs(ShapeContext& context, const MultiuserKeys& keys, const Method& method) {
  const auto& out = context.out;
  constexpr Element kForms[] = {Element::f32, Element::f16, Element::i8};
  const Dim user{"user", method.users}, t{"t", method.data}, bit{"bit", method.bits()};
  out[kSymbols].hold(Element::cf32, {user, t});
  out[kLlr].hold(kForms[static_cast<std::size_t>(keys.llr)], {user, t, bit});
  if (keys.llr == LlrForm::i8) out[kLlr].llr_scale = keys.llr_scale;
  out[kBits].hold(Element::u8, {user, t, bit});
  out[kModel].hold(Element::f32, {user, {"value", std::ssize(kModelValues)}});
  out[kLinear].hold(Element::f32, {user, {"component", 2 * method.antennas}});
  out[kGamma].hold(Element::f32, {user, {"row", 2 * method.dictionary}});
  out[kTally].tally(kEvents);
}

inline std::unique_ptr<StageRun> make_run(Backend& backend, const Method& method, Scheme scheme) {
  if (auto* cuda = device_half<CudaHalf>(backend, "multiuser")) return cuda(method, scheme);
  if (scheme != Scheme::own) throw SetupError("the published variants of apsm_detector need `backend: cuda`");
  return cpu_run([start = method.start, engine = std::make_shared<const Engine>(method)](const StageIo& io) noexcept {
    engine->run(job_of(io, start), io.fresh, io.carry, io.scratch);
  });
}

inline std::vector<InputSpec> multiuser_inputs() {
  return {{.name = "train_rx",
           .elements = {Element::cf32},
           .dims = "[frame][t][antenna]",
           .reread = true,
           .example = {{"t", 24}, {"antenna", 4}}},
          {.name = "train_tx",
           .elements = {Element::cf32},
           .dims = "[frame][t][user]",
           .reread = true,
           .example = {{"t", 24}, {"user", 3}}},
          {.name = "rx",
           .elements = {Element::cf32},
           .dims = "[frame][t][antenna]",
           .example = {{"t", 20}, {"antenna", 4}}}};
}
inline std::vector<OutputSpec> multiuser_outputs() {
  return {{.name = "symbols", .can_omit = true}, {.name = "llr", .can_omit = true},
          {.name = "bits", .can_omit = true},    {.name = "model", .can_omit = true},
          {.name = "linear", .can_omit = true},  {.name = "gamma", .can_omit = true},
          {.name = "events", .tally = kEvents}};
}

}  // namespace iqd::noma
