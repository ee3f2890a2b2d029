// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/backend/tuning.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.hpp"

namespace iqd {
namespace {

class Tuning : public ::testing::Test {
 protected:
  Tuning() {
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("iqd-tuning-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    ::setenv("STATE_DIRECTORY", folder_.c_str(), 1);
  }
  ~Tuning() override {
    ::unsetenv("STATE_DIRECTORY");
    std::filesystem::remove_all(folder_);
  }
  std::filesystem::path folder_;
};

TEST_F(Tuning, WhatIsStoredIsFoundForThisKindOfDevice) {
  EXPECT_FALSE(tuned_mapped_bytes("NVIDIA H200"));
  store_tuning("NVIDIA H200", 2'097'152);
  EXPECT_EQ(tuning_file("NVIDIA H200"), folder_ / "device-nvidia-h200.yaml");
  EXPECT_EQ(tuned_mapped_bytes("NVIDIA H200"), 2'097'152u);
  EXPECT_FALSE(tuned_mapped_bytes("NVIDIA L4"));
  store_tuning("NVIDIA H200", 0);
  EXPECT_EQ(tuned_mapped_bytes("NVIDIA H200"), 0u);
}

TEST_F(Tuning, EachPartIsKeptWhenAnotherIsStored) {
  const ConvolutionShape one = convolution_shape("12672x186+21x3104/1"), two = convolution_shape("12672x186x1");
  store_convolution("x", one, {"overlap", 2048});
  EXPECT_FALSE(tuned_mapped_bytes("x"));
  store_tuning("x", 4096);
  store_convolution("x", two, {"direct", 0});
  EXPECT_EQ(tuned_mapped_bytes("x"), 4096u);
  EXPECT_EQ(tuned_convolution("x", one), (ConvolutionChoice{"overlap", 2048}));
  EXPECT_EQ(tuned_convolution("x", two), (ConvolutionChoice{"direct", 0}));
  EXPECT_FALSE(tuned_convolution("x", convolution_shape("12672x186x2")));
  EXPECT_FALSE(tuned_convolution("y", one));
}

TEST_F(Tuning, AFileThatIsWrongIsNotUsed) {
  std::filesystem::create_directories(folder_);
  for (const char* text : {"", "mapped_bytes: many\n", "mapped_bytes: -1\n", "other: 1\n", "[1, 2\n"}) {
    std::ofstream(tuning_file("x")) << text;
    EXPECT_FALSE(tuned_mapped_bytes("x")) << text;
  }
}

TEST_F(Tuning, AFolderThatCannotBeMade) {
  ::setenv("STATE_DIRECTORY", "/proc/none", 1);
  EXPECT_THROW(store_tuning("x", 1), SetupError);
}

}  // namespace
}  // namespace iqd
