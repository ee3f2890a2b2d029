// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/transmit/aph_predistorter/aph_predistorter.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "pipeline/stage_runner.hpp"
#include "pipeline/stages/stages.hpp"
#include "pipeline/stages/transmit/aph_predistorter/predistorter_cases.hpp"

namespace iqd::aph_predistorter {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(AphPredistorter, IsTheDefinition) {
  for (const auto& [main, conjugate] : {std::pair{1, 0}, {1, 1}, {3, 0}, {5, 3}, {1, 7}, {7, 7}, {9, 7}})
    for (const int taps : {1, 2, 5, 9, 16}) {
      const AphOrders o{.main = main, .conjugate = conjugate, .taps = taps};
      SCOPED_TRACE(fmt::format("{}/{}, {} taps", main, conjugate, taps));
      const auto h = coefficients(o);
      const auto x = signal(601);
      const auto expected = definition(o, h, x);
      const auto z = predistorted<Complex>(make_model(o, h), x);
      double energy = 0, of_error = 0, largest = 0, worst = 0;
      for (std::size_t n = 0; n < x.size(); ++n) {
        const double error = std::abs(value(z[n]) - expected[n]);
        of_error += error * error;
        energy += std::norm(expected[n]);
        worst = std::max(worst, error);
        largest = std::max(largest, std::abs(expected[n]));
      }
      EXPECT_LT(10 * std::log10(of_error / energy), -120);
      EXPECT_LT(worst, 2e-6 * std::max(1.0, largest));
    }
}

TEST(AphPredistorter, HowTheStreamIsCutDoesNotMatter) {
  const AphOrders all[] = {{}, {.main = 9, .conjugate = 7, .taps = 16}, {.main = 3, .conjugate = 0, .taps = 2}};
  for (const AphOrders& o : all) {
    const Model model = make_model(o, coefficients(o));
    const auto x = signal(3001);
    const auto whole = predistorted<Complex>(model, x, 0.77f);
    for (const std::int64_t n : {1, 3, 4, 5, 28, 512, 65536})
      EXPECT_TRUE(same_bits(predistorted<Complex>(model, x, 0.77f, {n}), whole)) << n;
    EXPECT_TRUE(same_bits(predistorted<Complex>(model, x, 0.77f, {1, 700, 2, 513, 64}), whole));
    EXPECT_TRUE(same_bits(predistorted<sc16>(model, shorts(x), kNoClip, {1, 700, 2, 513, 7}),
                          predistorted<sc16>(model, shorts(x))));
  }
}

TEST(AphPredistorter, NothingInGivesTheConstant) {
  const AphOrders o;
  const auto h = coefficients(o);
  for (const Complex z : predistorted<Complex>(make_model(o, h), std::vector<Complex>(100))) {
    EXPECT_EQ(z.re, static_cast<float>(h.back().real()));
    EXPECT_EQ(z.im, static_cast<float>(h.back().imag()));
  }
}

TEST(AphPredistorter, TheIdentityLetsThrough) {
  for (const AphOrders o : {AphOrders{}, AphOrders{.main = 9, .conjugate = 7, .taps = 16}}) {
    const Model model = make_model(o, aph_identity(o));
    const auto x = signal(700);
    EXPECT_TRUE(same_bits(predistorted<Complex>(model, x), x));
    EXPECT_TRUE(same_bits(predistorted<sc16>(model, shorts(x)), shorts(x)));
  }
}

TEST(AphPredistorter, ClipKeepsThePhase) {
  const AphOrders o;
  const Model model = make_model(o, coefficients(o));
  const auto x = signal(1000);
  const auto free = predistorted<Complex>(model, x);
  Watch told;
  const auto z = predistorted<Complex>(model, x, 0.5f, {333}, &told);
  int clipped = 0;
  double peak = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const Exact was = value(free[n]);
    peak = std::max(peak, std::abs(was));
    if (std::abs(was) <= 0.5) {
      EXPECT_TRUE(z[n].re == free[n].re && z[n].im == free[n].im) << n;
      continue;
    }
    ++clipped;
    EXPECT_LT(std::abs(value(z[n]) - 0.5 * was / std::abs(was)), 1e-6) << n;
  }
  EXPECT_GT(clipped, 10);
  EXPECT_EQ(told.clipped, clipped);
  EXPECT_EQ(told.not_finite, 0);
  EXPECT_NEAR(std::sqrt(told.largest), peak, 1e-6 * peak);
}

TEST(AphPredistorter, ABadSampleIsSentAsNothingAndTouchesItsTapsOnly) {
  for (const float bad : {kNan, std::numeric_limits<float>::infinity(), 1e30f})
    for (const float clip : {kNoClip, 0.77f}) {
      const AphOrders o;
      const Model model = make_model(o, coefficients(o));
      auto x = signal(300);
      const auto clean = predistorted<Complex>(model, x, clip);
      x[150].im = bad;
      Watch told;
      const auto z = predistorted<Complex>(model, x, clip, {64}, &told);
      for (std::size_t n = 0; n < x.size(); ++n) {
        const Complex expected = n >= 150 && n < 155 ? Complex{} : clean[n];
        EXPECT_TRUE(z[n].re == expected.re && z[n].im == expected.im) << n;
      }
      EXPECT_EQ(told.not_finite, 5);
      EXPECT_TRUE(std::isfinite(told.largest));
    }
}

TEST(AphPredistorter, ShortsAreRoundedToNearest) {
  const AphOrders o;
  const auto h = coefficients(o);
  const Model model = make_model(o, h);
  const auto s = shorts(signal(1000));
  std::vector<Complex> x;
  for (const sc16 v : s) x.push_back(to_complex(v));
  const auto exact = definition(o, h, x);
  const auto z = predistorted<sc16>(model, s);
  for (std::size_t n = 0; n < s.size(); ++n) {
    EXPECT_NEAR(z[n].re, std::clamp(exact[n].real() * 32768, -32768.0, 32767.0), 0.51) << n;
    EXPECT_NEAR(z[n].im, std::clamp(exact[n].imag() * 32768, -32768.0, 32767.0), 0.51) << n;
  }
  EXPECT_TRUE(same_bits(predistorted<Complex>(model, s), predistorted<Complex>(model, x)));
}

TEST(AphPredistorter, ShortsSaturateAndAreCounted) {
  const AphOrders o{.main = 1, .conjugate = 0, .taps = 1};
  const Model model = make_model(o, std::vector<Exact>{2, 0});
  std::vector<sc16> x(40, sc16{100, -100});
  x[3] = {16384, 0};    // 32768: one above the range
  x[20] = {0, -16384};  // -32768 is in range
  x[39] = {-20000, 20000};
  Watch told;
  const auto z = predistorted<sc16>(model, x, kNoClip, {1 << 30}, &told);
  EXPECT_EQ(z[0], (sc16{200, -200}));
  EXPECT_EQ(z[3], (sc16{32767, 0}));
  EXPECT_EQ(z[20], (sc16{0, -32768}));
  EXPECT_EQ(z[39], (sc16{-32768, 32767}));
  EXPECT_EQ(told.clipped, 2);
}

// Runs the stage as `iqd exec` does.
class Exec {
 public:
  template <class T> Exec(const std::string& keys, const std::vector<T>& x, Element element, std::int64_t channels = 1,
                          std::int64_t block = 0) {
    StageInput in;
    in.shape.element = element;
    if (channels > 1) in.shape.rows = {{"channel", channels}};
    in.shape.rate_hz = in.shape.source_rate_hz = 1e6;
    in.length = std::ssize(x) / channels;
    in.data.resize(x.size() * sizeof(T));
    std::memcpy(in.data.data(), x.data(), in.data.size());
    StageRunner runner(entry_, keys, {in}, block, "cpu", problems_, {.stages = {&entry_, 1}});
    if (problems_.empty()) outputs_ = runner.run();
  }
  std::string complaints() const {
    std::string text;
    for (const Problem& p : problems_) text += p.text() + "\n";
    return text;
  }
  const StageOutput& output(std::size_t o) const { return outputs_.at(o); }
  template <class T> std::vector<T> as(std::size_t o) const {
    const auto bytes = output(o).joined();
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  StageEntry entry_ = entry();
  Problems problems_;
  std::vector<StageOutput> outputs_;
};

std::string yaml_of(const std::vector<Exact>& h) {
  std::string text;
  for (const Exact v : h) text += fmt::format("{}[{:.17g}, {:.17g}]", text.empty() ? "" : ", ", v.real(), v.imag());
  return "coefficients: [" + text + "]";
}

TEST(AphPredistorterStage, TellsOfEachBlock) {
  const AphOrders o;
  const auto h = coefficients(o);
  const Model model = make_model(o, h);
  auto x = signal(1000);
  x[555].re = kNan;
  const Exec run("{" + yaml_of(h) + ", clip: 0.77}", x, Element::cf32, 1, 100);
  ASSERT_EQ(run.complaints(), "");
  EXPECT_TRUE(same_bits(run.as<Complex>(0), predistorted<Complex>(model, x, 0.77f)));
  const auto peaks = run.as<float>(1);
  const auto events = run.as<std::int64_t>(2);
  ASSERT_EQ(peaks.size(), 10u);
  ASSERT_EQ(events.size(), 20u);
  const auto free = predistorted<Complex>(model, x);
  for (std::size_t b = 0; b < 10; ++b) {
    double peak = 0;
    std::int64_t clipped = 0;
    for (std::size_t n = 100 * b; n < 100 * (b + 1); ++n) {
      peak = std::max(peak, std::abs(value(free[n])));
      clipped += std::abs(value(free[n])) > 0.77 ? 1 : 0;
    }
    EXPECT_NEAR(peaks[b], peak, 1e-6) << b;
    EXPECT_EQ(events[2 * b], clipped) << b;
    EXPECT_EQ(events[2 * b + 1], b == 5 ? 5 : 0) << b;
  }
}

TEST(AphPredistorterStage, ChannelsAreAlikeAndToldOfTogether) {
  const AphOrders o;
  const auto h = coefficients(o);
  const auto a = signal(700, 1), b = signal(700, 2);
  auto both = a;
  both.insert(both.end(), b.begin(), b.end());
  const std::string keys = "{" + yaml_of(h) + "}";
  const Exec run(keys, both, Element::cf32, 2), first(keys, a, Element::cf32), second(keys, b, Element::cf32);
  auto expected = first.as<Complex>(0);
  const auto more = second.as<Complex>(0);
  expected.insert(expected.end(), more.begin(), more.end());
  EXPECT_TRUE(same_bits(run.as<Complex>(0), expected));
  EXPECT_EQ(run.as<float>(1)[0], std::max(first.as<float>(1)[0], second.as<float>(1)[0]));
}

TEST(AphPredistorterStage, OrthogonalCoefficientsAreFolded) {
  const AphOrders o{.main = 7, .conjugate = 5, .taps = 3};
  const auto h = coefficients(o);
  const auto x = signal(500);
  const std::string more = ", orders: {main: 7, conjugate: 5}, taps: 3";
  const Exec orthogonal("{" + yaml_of(h) + ", basis: orthogonal, power: 0.0729" + more + "}", x, Element::cf32);
  ASSERT_EQ(orthogonal.complaints(), "");
  const Exec monomial("{" + yaml_of(to_monomial(o, h, 0.0729)) + more + "}", x, Element::cf32);
  EXPECT_TRUE(same_bits(orthogonal.as<Complex>(0), monomial.as<Complex>(0)));
}

TEST(AphPredistorterStage, WithoutCoefficientsLetsThrough) {
  const auto x = signal(300);
  EXPECT_TRUE(same_bits(Exec("{}", x, Element::cf32).as<Complex>(0), x));
  const Exec same("{}", shorts(x), Element::sc16), floats("{output: cf32}", shorts(x), Element::sc16);
  EXPECT_EQ(same.output(0).shape.element, Element::sc16);
  EXPECT_TRUE(same_bits(same.as<sc16>(0), shorts(x)));
  EXPECT_EQ(floats.output(0).shape.element, Element::cf32);
  EXPECT_EQ(value(floats.as<Complex>(0)[9]), value(to_complex(shorts(x)[9])));
}

TEST(AphPredistorterStage, RefusesWhatCannotBe) {
  const auto complaints = [](const std::string& keys, Element element = Element::cf32) {
    return element == Element::cf32 ? Exec(keys, signal(20), element).complaints()
                                    : Exec(keys, shorts(signal(20)), element).complaints();
  };
  EXPECT_THAT(complaints("{coefficients: [1, 0, 0]}"), HasSubstr("coefficients: has 3"));
  EXPECT_THAT(complaints("{coefficients: [1, 0, 0]}"), HasSubstr("26"));
  EXPECT_THAT(complaints("{orders: {main: 4}}"), HasSubstr("the main order has to be 1, 3, 5, 7 or 9"));
  EXPECT_THAT(complaints("{orders: {conjugate: 2}}"), HasSubstr("the conjugate order has to be"));
  EXPECT_THAT(complaints("{taps: 17}"), HasSubstr("taps"));
  const std::string few = "orders: {main: 1, conjugate: 0}, taps: 1";
  EXPECT_THAT(complaints("{coefficients: [.nan, 0], " + few + "}"), HasSubstr("coefficients"));
  EXPECT_THAT(complaints("{coefficients: [1, 1e60], " + few + "}"), HasSubstr("coefficients: number 1 is not finite"));
  EXPECT_THAT(complaints("{coefficients: [1, 0], basis: orthogonal, " + few + "}"), HasSubstr("power: missing"));
  EXPECT_THAT(complaints("{power: 1}"), HasSubstr("power: belongs to `basis: orthogonal`"));
  EXPECT_THAT(complaints("{clip: 0}"), HasSubstr("clip"));
  EXPECT_THAT(complaints("{variant: paper}", Element::sc16), HasSubstr("variant: only `own` takes sc16"));
  EXPECT_THROW(complaints("{variant: paper}"), SetupError);
}

}  // namespace
}  // namespace iqd::aph_predistorter
