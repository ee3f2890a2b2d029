// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/backend/tuning.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "base/log.hpp"

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

const MeasuredWith kNow{"580.1", "abc"};

TEST_F(Tuning, TimesOfTheSameDriverAndKernelsAreFound) {
  EXPECT_TRUE(tuned_times("x", kNow).us.empty());
  EXPECT_FALSE(tuned_times("x", kNow).is_stale) << "there are none";
  store_tuning("x", 4096);
  store_times("x", kNow, {{"fir-64-1", 12.5}, {"fft-64-2", 0.25}});
  store_times("x", kNow, {{"fir-64-1", 13}});
  EXPECT_EQ(tuned_times("x", kNow).us, (Times{{"fft-64-2", 0.25}, {"fir-64-1", 13}}));
  EXPECT_EQ(tuned_mapped_bytes("x"), 4096u);
}

TEST_F(Tuning, StaleTimesAreNotUsed) {
  store_times("x", kNow, {{"fir-64-1", 12.5}});
  for (const MeasuredWith& other : {MeasuredWith{"590.1", "abc"}, MeasuredWith{"580.1", "def"}}) {
    EXPECT_TRUE(tuned_times("x", other).us.empty());
    EXPECT_TRUE(tuned_times("x", other).is_stale);
  }
  const MeasuredWith next{"590.1", "abc"};
  store_times("x", next, {{"fft-64-2", 1}});
  EXPECT_EQ(tuned_times("x", next).us, (Times{{"fft-64-2", 1}})) << "what is stale is dropped";
}

TEST_F(Tuning, TimesThatAreNoneAreNotUsed) {
  std::filesystem::create_directories(folder_);
  for (const char* text : {"many", "-1", "nan", "1e999", "12 us", "0x10"}) {
    std::ofstream(tuning_file("x")) << "driver: \"580.1\"\nkernels: abc\ntimes:\n  a: 1\n  b: " << text << "\n";
    const std::uint64_t lines = log::lines();
    EXPECT_TRUE(tuned_times("x", kNow).us.empty()) << text;
    EXPECT_EQ(log::lines(), lines + 1) << text;
  }
  store_times("x", kNow, {{"c", 2}});
  EXPECT_EQ(tuned_times("x", kNow).us, (Times{{"c", 2}}));
}

TEST_F(Tuning, TheDriverIsThatOfTheMachine) {
  std::filesystem::create_directories(folder_ / "proc/driver/nvidia");
  EXPECT_EQ(nvidia_driver(folder_), "unknown version");
  std::ofstream(folder_ / "proc/driver/nvidia/version")
      << "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue\nGCC version: 12.2.0\n";
  EXPECT_EQ(measured_with({"driver for CUDA 13.0, runtime 13.0", "fast"}, folder_).driver,
            "580.159.03, driver for CUDA 13.0, runtime 13.0");
  EXPECT_EQ(measured_with({}, folder_).driver, "") << "the CPU has none";
  EXPECT_EQ(measured_with({}, folder_).kernels.size(), 12u);
}

TEST_F(Tuning, AFolderThatCannotBeMade) {
  ::setenv("STATE_DIRECTORY", "/proc/none", 1);
  EXPECT_THROW(store_tuning("x", 1), SetupError);
}

}  // namespace
}  // namespace iqd
