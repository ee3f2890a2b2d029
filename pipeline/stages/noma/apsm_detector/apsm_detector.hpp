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

/// Detection of several users on the same carriers by a partially linear filter learned from pilots: the adaptive
/// projected subgradient method. A received vector r gives two real rows, v1 = [Re r; Im r] and v2 = [Im r; -Re r]. For
/// each user
///
///   f(v) = w_L c.v + w_G sum over i of gamma_i exp(-|v - x_i|^2 / (2 s^2)),  symbol = f(v1) + j f(v2)
///
/// with x_i the rows of all pilots, scaled to a mean power of 1 per antenna (`agc`), and s^2 = kernel_variance times
/// 2M, M^2 or 1. Pilots are taken in order. Pilot t updates with all pilots of the window t-W+1 … t at once, each of
/// their rows x with the same f and the sent value b:
///
///   beta = sgn(e) max(|e| - epsilon, 0) / (w_L |x|^2 + w_G),  e = b - f(x)
///   gamma_x += beta / n,  c += sum of beta x / n,  n rows in the window
///
/// `window_weights` replaces the mean by a weighted mean. Further passes continue from the result of the one before.
/// Training starts from c = 0, from least squares over the pilots, or from a given filter, and from gamma = 0.
///
/// Ports and edge values: multiuser.hpp. With `mode: online` the model continues from frame to frame: c, the newest
/// pilots and their factors are kept, and `dictionary` is the largest number of vectors; the start is used only while
/// there is no model. LLRs are max-log; their noise is the mean square error of the pilots without their own kernels.
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
    v.field("window", window, {.help = "pilots of one joint projection", .low = 1, .high = noma::kMostWindow});
    v.field("passes", passes, {.help = "training passes over the pilots", .low = 1, .high = 100, .live = true});
    v.field("epsilon", epsilon, {.help = "tolerated error per axis", .low = 0, .high = 1, .live = true});
    v.field("weights", weights, {.help = "of the linear and of the Gaussian part", .low = 0, .high = 1});
    v.field("kernel_variance", kernel_variance,
            {.help = "s^2 of the kernels, before kernel_scale", .low = 1e-6, .high = 1e6, .live = true});
    v.field("kernel_scale", kernel_scale,
            {.help = "factor of kernel_variance, for M antennas in use: 2M, M^2 (M2) or 1 (none)"});
    v.field("agc", agc, {.help = "scales each frame to a mean pilot power of 1 per antenna"});
    v.field("start", start,
            {.help = "what training starts from: 0, least squares over the pilots, or the filter on input 'start'"});
    v.field("mode", mode, {.help = "a new model for each frame, or one that continues from frame to frame"});
    v.field("dictionary", dictionary,
            {.help = "newest received vectors that may have kernels; 0: a frame's pilots. More than that: online only",
             .low = 0,
             .high = 1 << 20});
    v.field("window_weights", window_weights,
            {.help = "of a window's pilots, the newest first; empty: all equal", .low = 0, .high = 1e6, .live = true});
    v.field("variant", variant, {.help = "how a GPU detects: iqd's own way, or as published, for comparison"});
  }
};

}  // namespace iqd::apsm_detector
