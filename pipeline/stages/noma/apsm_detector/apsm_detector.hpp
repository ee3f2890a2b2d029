// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "config/fields.hpp"
#include "pipeline/stages/noma/multiuser/multiuser.hpp"
#include "pipeline/stages/noma/multiuser/scheme.hpp"

/// Detection of several users on the same carriers by a partially linear filter that is learned from pilots, the
/// adaptive projected subgradient method. Of a received vector r, as real rows v1 = [Re r; Im r], v2 = [Im r; -Re r]:
///
///   f(v) = w_L c.v + w_G sum over i of gamma_i exp(-|v - x_i|^2 / (2 s^2)),  symbol = f(v1) + j f(v2)
///
/// for each user, x_i the rows of all pilots, scaled to a mean power of 1 an antenna (`agc`), s^2 = kernel_variance
/// times 2M, M^2 or 1. For each pilot t in its order, all pilots of the window t-W+1 … t at once, each row x of them
/// with the same f and the sent value b:
///
///   beta = sgn(e) max(|e| - epsilon, 0) / (w_L |x|^2 + w_G),  e = b - f(x)
///   gamma_x += beta / n,  c += sum of beta x / n,  n rows in the window
///
/// with `window_weights` a weighted mean instead. Further passes do it again on what is there. Training begins with
/// c = 0, with least squares over the pilots, or with a filter that is handed in, and gamma = 0.
///
/// Ports and edge values: multiuser.hpp. `mode: online` goes on from frame to frame: c, the newest pilots and their
/// factors stay, and `dictionary` is how many vectors there are at most; the start is used where there is no model yet.
/// LLRs are max-log, with the mean square error of the pilots without their own kernels as noise.
namespace iqd::apsm_detector {

enum class KernelScale : std::uint8_t { twice_antennas, antennas_squared, none };
inline std::span<const std::string_view> enum_names(KernelScale) {
  static constexpr std::string_view names[] = {"2M", "M2", "none"};
  return names;
}
enum class Agc : std::uint8_t { on, off };
inline std::span<const std::string_view> enum_names(Agc) {
  static constexpr std::string_view names[] = {"on", "off"};
  return names;
}
enum class Mode : std::uint8_t { frame, online };
inline std::span<const std::string_view> enum_names(Mode) {
  static constexpr std::string_view names[] = {"frame", "online"};
  return names;
}

struct Config {
  std::int64_t window = 20;
  std::int64_t passes = 1;
  double epsilon = 0.001;
  std::vector<double> weights{0.5, 0.5};
  double kernel_variance = 0.05;
  KernelScale kernel_scale = KernelScale::twice_antennas;
  Agc agc = Agc::on;
  noma::Start start = noma::Start::lls;
  Mode mode = Mode::frame;
  std::int64_t dictionary = 0;
  std::vector<double> window_weights;
  noma::Scheme variant = noma::Scheme::own;

  void fields(FieldVisitor& v) {
    v.field("window", window, {.help = "pilots that are projected on at once", .low = 1, .high = noma::kMostWindow});
    v.field("passes", passes, {.help = "how often training goes over the pilots", .low = 1, .high = 100, .live = true});
    v.field("epsilon", epsilon,
            {.help = "the error of an axis that is put up with", .low = 0, .high = 1, .live = true});
    v.field("weights", weights, {.help = "of the linear and of the Gaussian part", .low = 0, .high = 1});
    v.field("kernel_variance", kernel_variance,
            {.help = "s^2 of the kernels, before kernel_scale", .low = 1e-6, .high = 1e6, .live = true});
    v.field("kernel_scale", kernel_scale,
            {.help = "what kernel_variance is multiplied with, for M antennas in use: 2M, M^2 (M2) or nothing"});
    v.field("agc", agc, {.help = "scales each frame so that its pilots have a mean power of 1 an antenna"});
    v.field(
        "start", start,
        {.help = "where training begins: at 0, at least squares over the pilots, or at the filter of input 'start'"});
    v.field("mode", mode, {.help = "a frame by itself, or a model that lives on from frame to frame"});
    v.field(
        "dictionary", dictionary,
        {.help = "received vectors that may have kernels, the newest; 0: a frame's pilots. More of them: online only",
         .low = 0,
         .high = 1 << 20});
    v.field("window_weights", window_weights,
            {.help = "of a window's pilots, the newest first; all alike where it is empty",
             .low = 0,
             .high = 1e6,
             .live = true});
    v.field("variant", variant, {.help = "how a GPU detects: our own way, or as published, to compare"});
  }
};

}  // namespace iqd::apsm_detector
