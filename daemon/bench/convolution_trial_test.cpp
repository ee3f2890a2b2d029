// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/convolution_trial.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "daemon/bench/bench_row.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "signal/filters/convolution.hpp"

namespace iqd {
namespace {

/// The CPU's convolution with one wrong sample in one packet.
class Spoilt final : public Convolver {
 public:
  Spoilt(const ConvolutionShape& shape, std::int64_t packet, float by)
      : good_(cpu_convolution().make(shape, {"direct", 0})), packet_(packet), by_(by) {}
  std::size_t scratch_bytes() const noexcept override { return good_->scratch_bytes(); }
  double flops() const noexcept override { return 1; }
  void run(const ConvolutionIo& io, std::byte* scratch, StreamView stream) const noexcept override {
    good_->run(io, scratch, stream);
    io.y(packet_, io.y.extent(1) / 2) += by_;
  }

 private:
  std::unique_ptr<Convolver> good_;
  std::int64_t packet_;
  float by_;
};

const ConvolutionShape kShape = convolution_shape("500x20x9");

template <int packet, int thousandths> ConvolutionTable table() {
  return {cpu_convolution().choices, cpu_convolution().rule,
          [](const ConvolutionShape& shape, const ConvolutionChoice&) -> std::unique_ptr<Convolver> {
            const float nan = std::numeric_limits<float>::quiet_NaN();
            return std::make_unique<Spoilt>(shape, packet, thousandths < 0 ? nan : thousandths / 1000.0f);
          }};
}

TEST(ConvolutionTrial, FindsOneWrongSampleInAnyPacket) {
  const auto backend = make_cpu_backend();
  ConvolutionTrial trial(*backend, kShape);
  EXPECT_NO_THROW(trial.measure(table<0, 0>(), {"direct", 0}, 0));
  EXPECT_THROW(trial.measure(table<0, 100>(), {"direct", 0}, 0), SetupError);
  EXPECT_THROW(trial.measure(table<5, 100>(), {"direct", 0}, 0), SetupError);
  EXPECT_THROW(trial.measure(table<8, 100>(), {"direct", 0}, 0), SetupError);
  EXPECT_THROW(trial.measure(table<5, -1>(), {"direct", 0}, 0), SetupError);
}

TEST(ConvolutionTrial, TakesTimes) {
  const auto backend = make_cpu_backend();
  ConvolutionTrial trial(*backend, convolution_shape("500x20+3x9/1"));
  for (const ConvolutionChoice& choice : choices_to_try(cpu_convolution(), trial.shape(), "", false)) {
    const ConvolutionTimes times = trial.measure(cpu_convolution(), choice, 0);
    for (const auto& us : {times.in_us, times.run_us, times.out_us}) {
      ASSERT_GE(us.size(), 5u) << text_of(choice);
      EXPECT_GT(median(us), 0) << text_of(choice);
    }
    EXPECT_GT(times.flops, 0) << text_of(choice);
  }
  EXPECT_GT(trial.copy_us(), 0);
}

TEST(ConvolutionTrial, EachMethodOnceUnlessAllSizesAreWanted) {
  const ConvolutionShape shape = convolution_shape("12672x186x1");
  const auto once = choices_to_try(cpu_convolution(), shape, "", false);
  ASSERT_EQ(once.size(), 3u);
  EXPECT_EQ(once[0].method, "direct");
  EXPECT_EQ(once[1].method, "fft");
  EXPECT_EQ(once[2].method, "overlap");
  EXPECT_EQ(choices_to_try(cpu_convolution(), shape, "overlap", false).size(), 1u);
  EXPECT_EQ(choices_to_try(cpu_convolution(), shape, "", true).size(), cpu_convolution().choices(shape).size());
}

TEST(ConvolutionBench, CountsTransfersAsTheThesisDoes) {
  BenchOptions options;
  options.backend = "cpu";
  options.seconds = 0;
  options.config = {"shape=500x20x1", "shape=500x20x9", "method=direct"};
  const auto rows = bench_convolution(options);
  ASSERT_EQ(rows.size(), 2u);
  const auto figure = [](const BenchRow& row, std::string_view name) {
    for (const auto& [n, value] : row.further)
      if (n == name) return value;
    return -1.0;
  };
  EXPECT_EQ(figure(rows[0], "thesis_us"), figure(rows[0], "with_transfers_us"));
  EXPECT_EQ(figure(rows[1], "thesis_us"), rows[1].p50_us);
  EXPECT_GT(figure(rows[1], "with_transfers_us"), rows[1].p50_us);
  EXPECT_EQ(figure(rows[1], "flop"), 9 * figure(rows[0], "flop"));
  for (const char* wrong : {"shap=1x1x1", "shape=1x1", "method=none", "size=7"}) {
    options.config = {"shape=500x20x1", wrong};
    EXPECT_THROW(bench_convolution(options), UsageError) << wrong;
  }
}

}  // namespace
}  // namespace iqd
