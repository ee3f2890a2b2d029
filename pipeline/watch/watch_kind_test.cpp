// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/watch/watch_kind.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "pipeline/watch/watch_grid.hpp"

namespace iqd {
namespace {

PortFormat port(std::string name, Element element, std::vector<Dim> dims, int varying) {
  PortFormat format;
  format.port = std::move(name);
  format.element = element;
  format.dims = std::move(dims);
  format.varying = varying;
  return format;
}

TEST(WatchKind, IsDecidedByNameElementAndDimensions) {
  struct Case {
    PortFormat format;
    std::optional<WatchKind> kind;
    std::vector<std::size_t> picked;
  };
  const std::vector<Case> cases{
      {port("source", Element::sc16, {{"n", 9}}, 0), WatchKind::samples, {}},
      {port("fir.out", Element::cf32, {{"channel", 2}, {"n", 9}}, 1), WatchKind::samples, {0}},
      {port("mag.out", Element::f32, {{"n", 9}}, 0), std::nullopt, {}},
      {port("spectrum.out", Element::f32, {{"bin", 9}}, -1), WatchKind::bins, {}},
      {port("spectrum.out", Element::f16, {{"channel", 2}, {"bin", 9}}, -1), WatchKind::bins, {0}},
      {port("fft.out", Element::cf32, {{"channel", 2}, {"frame", 4}, {"bin", 9}}, 1), WatchKind::bins, {0}},
      {port("equalizer.symbols", Element::cf32, {{"packet", 4}, {"kind", 2}, {"symbol", 9}}, 0),
       WatchKind::symbols,
       {1}},
      {port("apsm_detector.symbols", Element::cf32, {{"frame", 1}, {"user", 6}, {"t", 9}}, 0), WatchKind::symbols, {1}},
      {port("symbol_sync.out", Element::cf32, {{"symbol", 9}}, 0), WatchKind::symbols, {}},
      {port("symbol_sync.out", Element::cf32, {{"channel", 2}, {"symbol", 9}}, 1), WatchKind::symbols, {0}},
      {port("detector.symbols", Element::cf32, {{"frame", 1}, {"carrier", 9}, {"tx", 2}}, 0), WatchKind::symbols, {2}},
      {port("detector.llr", Element::i8, {{"frame", 1}, {"tx", 2}, {"bit", 4}}, 0), WatchKind::values, {1}},
      {port("detector.soft", Element::f16, {{"packet", 1}, {"kind", 2}, {"symbol", 4}}, 0), WatchKind::values, {1}},
      {port("detector.bits", Element::u8, {{"packet", 1}, {"kind", 2}, {"bit", 4}}, 0), std::nullopt, {}},
      {port("evm.levels", Element::f32, {{"level", 4}}, -1), std::nullopt, {}},
      {port("search.windows", Element::cf32, {{"packet", 1}, {"sample", 4}}, 0), std::nullopt, {}},
      {port("odd.llr", Element::f32, std::vector<Dim>(9, {"bit", 1}), 0), std::nullopt, {}},
  };
  for (const Case& c : cases) {
    const std::optional<Watchable> how = watchable(c.format);
    EXPECT_EQ(how.has_value(), c.kind.has_value()) << c.format.port << to_string(c.format.dims);
    if (!how || !c.kind) continue;
    EXPECT_EQ(how->kind, *c.kind) << c.format.port << to_string(c.format.dims);
    EXPECT_EQ(how->picked, c.picked) << c.format.port << to_string(c.format.dims);
  }
}

TEST(WatchGrid, FindsEachElementOfATraceOnce) {
  const PortFormat format = port("x", Element::f32, {{"a", 2}, {"v", 5}, {"b", 3}, {"c", 4}}, 1);
  const WatchGrid grid(format, {0, 2});
  ASSERT_EQ(grid.traces(), 6);
  for (const std::int64_t extent : {5, 2, 0}) {
    const WatchGrid::Layout layout = grid.layout(extent);
    EXPECT_EQ(layout.count(), extent * 4);
    for (std::int64_t t = 0; t < grid.traces(); ++t)
      for (std::int64_t i = 0; i < layout.count(); ++i) {
        const std::int64_t a = grid.entry(t, 0), b = grid.entry(t, 1), v = i / 4, c = i % 4;
        EXPECT_EQ(layout.begin(t) + layout.at(i), ((a * extent + v) * 3 + b) * 4 + c);
      }
  }
}

}  // namespace
}  // namespace iqd
