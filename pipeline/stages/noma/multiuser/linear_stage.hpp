// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stages/noma/multiuser/multiuser_stage.hpp"

namespace iqd::noma {

/// A detector that is just the linear filter that a model of apsm_detector would start from.
template <Start start> class LinearStage final : public ConfiguredStage<MultiuserKeys> {
 public:
  void shape(ShapeContext& context) override {
    method_.start = start;
    if (!read_shapes(context, config_, method_)) return;
    if (start == Start::genie && (!check_side_input(context, kStart, "input 'h' has to be [group][antenna][user]",
                                                    {method_.antennas, method_.users}) ||
                                  !check_side_input(context, kStart + 1, "input 'noise' has to be [group]", {})))
      return;
    method_.passes = 0;
    method_.linear = 1;
    method_.gaussian = 0;
    shape_outputs(context, config_, method_);
    context.scratch_bytes = Engine(method_).scratch_bytes();
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override { return make_run(backend, method_, Scheme::own); }

 private:
  Method method_;
};

}  // namespace iqd::noma
