// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "pipeline/stages/transmit/aph_predistorter/predistorter_cases.hpp"
#include "pipeline/stages/transmit/aph_predistorter/tile_inl.hpp"

namespace iqd::aph_predistorter {
namespace {

// The GPU's kernel, one thread after the other between barriers.
template <class Out, class In> std::vector<Out> as_on_a_gpu(const Model& model, const std::vector<In>& x,
                                                            std::int64_t past, float clip, Told told, Watch& watch) {
  const std::int64_t n = std::ssize(x) - past;
  const int history = Tile::history(model.taps);
  std::vector<Out> z(static_cast<std::size_t>(n));
  std::vector<Unit> inputs(Tile::kInputUnits), outputs(Tile::kOutputUnits);
  for (std::int64_t first = 0; first < n; first += Tile::kOutputs) {
    for (int t = 0; t < Tile::kThreads; ++t)
      stage_inputs(x.data() + past + first, past + first, n - first, history, t, inputs.data());
    for (int t = 0; t < Tile::kThreads; ++t) {
      Complex sums[Tile::kEach];
      std::fill(std::begin(sums), std::end(sums), model.constant);
      if (model.branches == 3 && model.taps == 5)
        sum_up<3, 5>(model, t, inputs.data(), sums);
      else
        sum_up(model, t, inputs.data(), sums);
      limit_outputs<Out>(sums, clip, first + t * Tile::kEach, told, t, outputs.data(), watch);
    }
    for (int t = 0; t < Tile::kThreads; ++t) store_outputs(outputs.data(), t, n - first, z.data() + first);
  }
  return z;
}
template <class T> double distance(const std::vector<T>& a, const std::vector<T>& b) {
  double worst = a.size() == b.size() ? 0 : 1e9;
  for (std::size_t n = 0; n < std::min(a.size(), b.size()); ++n)
    worst = std::max(
        {worst, std::abs(static_cast<double>(a[n].re) - b[n].re), std::abs(static_cast<double>(a[n].im) - b[n].im)});
  return worst;
}

TEST(AphPredistorterTile, GivesWhatTheProcessorGives) {
  const AphOrders all[] = {{}, {.taps = 16}, {.main = 1, .conjugate = 7, .taps = 4}, {.main = 9, .taps = 1}};
  for (const AphOrders& o : all) {
    const Model model = make_model(o, coefficients(o));
    for (const int n : {1, 7, 1024, 1025, 3077}) {
      SCOPED_TRACE(fmt::format("{}/{}, {} taps, {} samples", o.main, o.conjugate, o.taps, n));
      const auto x = signal(n);
      Watch on_gpu, on_cpu;
      const Told told{0, n};
      // A CPU without fused multiply-add rounds twice.
      EXPECT_LT(distance(as_on_a_gpu<Complex>(model, x, 0, 0.77f, told, on_gpu),
                         predistorted<Complex>(model, x, 0.77f, {1 << 30}, &on_cpu)),
                1e-6);
      EXPECT_EQ(on_gpu.clipped, on_cpu.clipped);
      EXPECT_FLOAT_EQ(on_gpu.largest, on_cpu.largest);
      const auto s = shorts(x);
      EXPECT_LE(distance(as_on_a_gpu<sc16>(model, s, 0, 2, told, on_gpu), predistorted<sc16>(model, s)), 1);
      EXPECT_LT(distance(as_on_a_gpu<Complex>(model, s, 0, 2, told, on_gpu), predistorted<Complex>(model, s)), 1e-6);
    }
  }
}

TEST(AphPredistorterTile, HowTheStreamIsCutDoesNotMatter) {
  const AphOrders o;
  const Model model = make_model(o, coefficients(o));
  const auto x = signal(5000);
  Watch watch;
  const auto whole = as_on_a_gpu<Complex>(model, x, 0, 0.77f, {0, 5000}, watch);
  for (const int past : {4, 5, 7, 16})
    for (const int begin : {100, 1024}) {
      const std::vector<Complex> part(x.begin() + begin - past, x.begin() + begin + 2500);
      EXPECT_TRUE(same_bits(as_on_a_gpu<Complex>(model, part, past, 0.77f, {0, 2500}, watch),
                            std::vector<Complex>(whole.begin() + begin, whole.begin() + begin + 2500)))
          << past << " before " << begin;
    }
}

TEST(AphPredistorterTile, TellsOfWhatIsNewOnly) {
  const AphOrders o;
  const Model model = make_model(o, coefficients(o));
  const auto x = signal(3000);
  Watch some, expected;
  as_on_a_gpu<Complex>(model, x, 0, 0.5f, {20, 2490}, some);
  const auto z = predistorted<Complex>(model, x);
  for (std::size_t n = 20; n < 2490; ++n) limit<Complex>(z[n], 0.5f, expected);
  EXPECT_EQ(some.clipped, expected.clipped);
  EXPECT_FLOAT_EQ(some.largest, expected.largest);
}

TEST(AphPredistorterTile, UnitsReadAtOnceLieInDifferentBanks) {
  for (int first = 0; first < Tile::kThreads; first += 8)
    for (int u = 0; u < 6; ++u) {
      unsigned banks = 0;
      for (int t = first; t < first + 8; ++t) banks |= 1u << Tile::place(4 * t + u) % 8;
      EXPECT_EQ(banks, 0xffu) << first << " " << u;
    }
  std::vector<int> taken(Tile::kInputUnits);
  for (int u = 0; u < Tile::kInputUnits; ++u) ++taken.at(static_cast<std::size_t>(Tile::place(u)));
  EXPECT_EQ(taken, std::vector<int>(Tile::kInputUnits, 1));
}

}  // namespace
}  // namespace iqd::aph_predistorter
