// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "pipeline/stages/noma/apsm_detector/apsm_detector.hpp"
#include "pipeline/stages/noma/multiuser/multiuser_stage.hpp"

namespace iqd::apsm_detector {
namespace {

using noma::Method;

/// 1 / (2 s^2).
float exponent_of(const Config& config, int antennas) {
  const double m = antennas;
  const double scale = config.kernel_scale == KernelScale::twice_antennas     ? 2 * m
                       : config.kernel_scale == KernelScale::antennas_squared ? m * m
                                                                              : 1;
  return static_cast<float>(1 / (2 * config.kernel_variance * scale));
}

/// Weights of the window's pilots; returns true if they are valid.
bool fill_weights(const Config& config, const Section& section, Method& method) {
  const std::vector<double>& given = config.window_weights;
  const auto window = static_cast<std::size_t>(config.window);
  if (given.size() > window) {
    section.problem("window_weights", fmt::format("has {} weights for a window of {}", given.size(), window));
    return false;
  }
  if (!given.empty() && !(given.front() > 0)) {
    section.problem("window_weights", "the first, of the newest pilot, has to be above 0");
    return false;
  }
  double sum = 0;
  for (std::size_t k = 0; k < window; ++k) {
    const double weight = given.empty() ? 1 : k < given.size() ? given[k] : 0;
    sum += weight;
    method.weight[k] = static_cast<float>(weight);
    method.share[k] = static_cast<float>(1 / (2 * sum));
  }
  return true;
}

bool fill_method(const Config& config, bool start_given, const Section& section, Method& method) {
  if (config.weights.size() != 2 || !(config.weights[0] + config.weights[1] > 0)) {
    section.problem("weights", "has to be two numbers, [linear, Gaussian], not both 0");
    return false;
  }
  if (config.start != noma::Start::zero && config.weights[0] == 0) {
    section.problem("start", "has to be `zero` for a model without a linear part");
    return false;
  }
  if (config.start == noma::Start::port && !start_given) {
    section.problem("start", "is `port`, but nothing is connected to the input 'start'");
    return false;
  }
  const bool online = config.mode == Mode::online;
  if (config.dictionary > 0) {
    method.kernels = std::min(config.dictionary, method.pilots);
    if (online) method.dictionary = std::max(config.dictionary, method.pilots);
  }
  method.start = config.start;
  method.online = online;
  method.agc = config.agc == Agc::on;
  method.window = static_cast<int>(config.window);
  method.passes = static_cast<int>(config.passes);
  method.epsilon = static_cast<float>(config.epsilon);
  method.linear = static_cast<float>(config.weights[0]);
  method.gaussian = static_cast<float>(config.weights[1]);
  method.exponent = exponent_of(config, method.used_count);
  return fill_weights(config, section, method);
}

class ApsmDetectorStage final : public Stage {
 public:
  void fields(FieldVisitor& visitor) override {
    keys_.fields(visitor);
    config_.fields(visitor);
  }

  void shape(ShapeContext& context) override {
    if (!noma::read_shapes(context, keys_, method_)) return;
    const bool start_given = !context.in[noma::kStart].item.empty();
    if (!fill_method(config_, start_given, context.section, method_)) return;
    if (method_.start == noma::Start::port &&
        !noma::check_side_input(context, noma::kStart, "input 'start' has to be [group][user][antenna]",
                                {method_.users, method_.antennas}))
      return;
    noma::shape_outputs(context, keys_, method_);
    context.scratch_bytes = noma::Engine(method_).scratch_bytes();
    context.carry_bytes = method_.carry_bytes();
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    return noma::make_run(backend, method_, config_.variant);
  }

 private:
  noma::MultiuserKeys keys_;
  Config config_;
  Method method_;
};

}  // namespace

StageEntry entry() {
  std::vector<InputSpec> inputs = noma::multiuser_inputs();
  inputs.push_back({.name = "start",
                    .elements = {Element::cf32},
                    .dims = "[group][user][antenna]",
                    .optional = true,
                    .reread = true,
                    .example = {{"user", 3}, {"antenna", 4}}});
  return {.family = "noma",
          .name = "apsm_detector",
          .summary = "partially linear detection of several users, learned online from pilots by adaptive projections",
          .inputs = std::move(inputs),
          .outputs = noma::multiuser_outputs(),
          .make = make_stage<ApsmDetectorStage>,
          .sample = "apsm_detector: {modulation: 16qam}",
          .tolerance = 1e-3};
}

}  // namespace iqd::apsm_detector
