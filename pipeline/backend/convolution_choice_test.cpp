// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/backend/convolution_choice.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/backend/tuning.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd {
namespace {

TEST(ConvolutionChoice, WhatWasMeasuredGoesBeforeTheRule) {
  const ScratchFolder folder;
  ::setenv("STATE_DIRECTORY", folder.path().c_str(), 1);
  const auto backend = make_cpu_backend();
  const ConvolutionShape shape = convolution_shape("2000x100x4");
  const ConvolutionChoice rule = convolutions_of(*backend).rule(shape);
  EXPECT_EQ(choose_convolution(*backend, shape), rule);
  store_convolution(backend->device(), shape, {"direct", 0});
  EXPECT_NE(rule, (ConvolutionChoice{"direct", 0}));
  EXPECT_EQ(choose_convolution(*backend, shape), (ConvolutionChoice{"direct", 0}));
  store_convolution(backend->device(), shape, {"by_hand", 7});  // as if from another version
  EXPECT_EQ(choose_convolution(*backend, shape), rule);
  ::unsetenv("STATE_DIRECTORY");
}

}  // namespace
}  // namespace iqd
