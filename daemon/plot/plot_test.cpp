// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "daemon/plot/axis.hpp"
#include "daemon/plot/bins.hpp"
#include "daemon/plot/picture.hpp"
#include "daemon/plot/plots.hpp"
#include "daemon/plot/raster_painter.hpp"
#include "daemon/plot/stroke_font.hpp"
#include "daemon/plot/svg_painter.hpp"
#include "daemon/plot/text_figure.hpp"
#include "daemon/plot/tone_for_test.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::plot {
namespace {

using ::testing::HasSubstr;

TEST(PlotAxis, TicksAreRoundNumbersWithinTheScale) {
  const auto texts = [](Scale scale, int most) {
    std::vector<std::string> all;
    for (const Tick& t : ticks_of(scale, most)) all.push_back(t.text);
    return all;
  };
  EXPECT_EQ(texts({-100, 0, ""}, 5), (std::vector<std::string>{"-100", "-80", "-60", "-40", "-20", "0"}));
  EXPECT_EQ(texts({433.42, 434.42, ""}, 5), (std::vector<std::string>{"433.6", "433.8", "434.0", "434.2", "434.4"}));
  EXPECT_EQ(texts({0.5, 0, ""}, 5), (std::vector<std::string>{"0.0", "0.1", "0.2", "0.3", "0.4", "0.5"})) << "reversed";
  EXPECT_TRUE(texts({1, 1, ""}, 5).empty());
}

TEST(PlotAxis, FrequenciesHaveTheirUnit) {
  EXPECT_EQ(frequency_text(433.9235e6, 244), "433.92350 MHz");
  EXPECT_EQ(frequency_text(-1500, 100), "-1.50 kHz");
  EXPECT_EQ(frequency_text(50, 10), "50 Hz");
}

TEST(SpectrumPlot, ThePeakIsAtItsTrueFrequency) {
  for (const double offset : {-412'345.6, -1000.0, 123'456.0, 100.5 * kRate / 4096, 499'000.0}) {
    const Figure f = figure_of(Kind::automatic, tone(offset));
    ASSERT_EQ(f.marks.size(), 1u);
    EXPECT_NEAR(f.marks[0].x * 1e6, kCentre + offset, kRate / 4096 / 8) << "an eighth of a bin";
    EXPECT_NEAR(f.marks[0].y, -20, 0.05);
    EXPECT_EQ(f.x.label, "frequency, MHz");
    EXPECT_NEAR(f.x.low * 1e6, kCentre - kRate / 2, 1);
    EXPECT_THAT(f.note, HasSubstr("peak " + frequency_text(f.marks[0].x * 1e6, kRate / 4096)));
  }
}

TEST(SpectrumPlot, ChannelsAreCurvesAndTheStrongestIsNamed) {
  Piece piece = tone(100e3);
  piece.samples.push_back(tone(-200e3).samples[0]);
  for (cf32& z : piece.samples[1]) z *= 3;
  const Figure f = figure_of(Kind::spectrum, piece);
  ASSERT_EQ(f.curves.size(), 2u);
  EXPECT_FALSE(f.filled);
  EXPECT_THAT(f.note, HasSubstr("in channel 1"));
  EXPECT_NEAR(f.marks[0].x * 1e6, kCentre - 200e3, 50);
}

TEST(SpectrumPlot, ShortSignalsHaveShortTransforms) {
  const Figure f = figure_of(Kind::spectrum, tone(100e3, 40));
  EXPECT_EQ(f.curves[0].values.size(), 16u);
}

TEST(SpectrumPlot, RealValuesHavePositiveFrequencies) {
  Piece piece;
  piece.of = Piece::Of::values;
  piece.rate_hz = 48'000;
  std::vector<float>& x = piece.values.emplace_back();
  for (int i = 0; i < 1 << 15; ++i) x.push_back(static_cast<float>(std::cos(2 * std::numbers::pi * 1000 / 48'000 * i)));
  const Figure f = figure_of(Kind::spectrum, piece);
  EXPECT_EQ(f.x.low, 0);
  EXPECT_NEAR(f.marks[0].x, 1.0, 0.002) << f.x.label;
}

TEST(ConstellationPlot, IsSquareAroundZero) {
  Piece piece;
  piece.of = Piece::Of::symbols;
  piece.samples = {{{1, 1}, {-1, 1}, {-1, -1}, {1, -1}}};
  const Figure f = figure_of(Kind::automatic, piece);
  EXPECT_EQ(f.kind, Figure::Kind::points);
  EXPECT_EQ(f.points.size(), 4u);
  EXPECT_EQ(f.x.low, -f.x.high);
  EXPECT_GT(f.x.high, 1);
  EXPECT_THAT(f.note, HasSubstr("mean power 3.0 dB"));
  EXPECT_THROW(make_plot(Kind::spectrum, piece, {}), UsageError);
}

TEST(TextFigure, ThePeaksColumnIsItsFrequency) {
  for (const int columns : {60, 80, 133}) {
    const Figure f = figure_of(Kind::spectrum, tone(250e3));
    const std::vector<std::string> lines = text_figure(f, {columns, 24}, terminal::Colours::none);
    ASSERT_EQ(lines.size(), 24u);
    for (const std::string& line : lines) EXPECT_LE(terminal::width_of(line), columns) << line;
    std::size_t first = 1;
    while (lines[first].find("▸") == std::string::npos && first < 20) ++first;
    const std::string& line = lines[first];
    const int column = terminal::width_of(line.substr(0, line.find("▸")));
    const int left = terminal::width_of(lines[21].substr(0, lines[21].find("└"))) + 1;
    EXPECT_NEAR(column, left + 0.75 * (columns - left - 1), 2) << line;
    EXPECT_THAT(line, HasSubstr("434.17"));
    EXPECT_THAT(lines[22], HasSubstr("MHz"));
    EXPECT_THAT(lines[23], HasSubstr("peak"));
  }
}

TEST(TextFigure, DrawsAnythingOnAnyTerminal) {
  Piece symbols;
  symbols.of = Piece::Of::symbols;
  symbols.samples = {{{1, 1}, {-1, 1}}};
  Piece values;
  values.of = Piece::Of::values;
  values.values = {{1, 2, std::nanf(""), 4}};
  for (const auto& [kind, piece] : {std::pair(Kind::spectrum, tone(1e5)), std::pair(Kind::waterfall, tone(1e5)),
                                    std::pair(Kind::constellation, symbols), std::pair(Kind::time, values)}) {
    PlotOptions options;
    options.is_whole = true;
    const Figure f = figure_of(kind, piece, options);
    for (const terminal::Size size : {terminal::Size{1, 1}, {3, 3}, {20, 6}, {80, 24}, {300, 100}})
      for (const auto colours :
           {terminal::Colours::none, terminal::Colours::basic, terminal::Colours::indexed, terminal::Colours::full})
        for (const std::string& line : text_figure(f, size, colours)) EXPECT_LE(terminal::width_of(line), size.columns);
  }
}

TEST(TextFigure, WithoutColoursThereAreNoEscapes) {
  PlotOptions options;
  options.is_whole = true;
  for (const Kind kind : {Kind::spectrum, Kind::waterfall})
    for (const std::string& line : text_figure(figure_of(kind, tone(1e5), options), {80, 24}, terminal::Colours::none))
      EXPECT_EQ(line.find('\x1b'), line.npos);
}

/// What a PNG file holds, as libpng decodes it.
Pixels decoded(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_file(&image, path.c_str())) << image.message;
  image.format = PNG_FORMAT_RGB;
  Pixels pixels(static_cast<int>(image.width), static_cast<int>(image.height));
  EXPECT_TRUE(png_image_finish_read(&image, nullptr, pixels.colours.data(), 0, nullptr)) << image.message;
  return pixels;
}

TEST(PlotPicture, APngShowsTheToneAtItsFrequency) {
  const ScratchFolder folder;
  PlotOptions options;
  options.is_whole = true;
  const std::string path = folder / "tone.png";
  const Figure f = figure_of(Kind::waterfall, tone(250e3), options);
  write_picture(path, f, {900, 500});
  Pixels pixels = decoded(path);
  ASSERT_EQ(pixels.width, 900);
  ASSERT_EQ(pixels.height, 500);
  // The brightest pixel of a row in the middle is the tone; the plot is from 84 to 790.
  int brightest = 100;
  const auto brightness = [&](int x) { return pixels.at(x, 250).r + pixels.at(x, 250).g + pixels.at(x, 250).b; };
  for (int x = 90; x < 780; ++x)
    if (brightness(x) > brightness(brightest)) brightest = x;
  EXPECT_NEAR(brightest, 84 + 0.75 * (790 - 84), 2);
}

TEST(PlotPicture, AnSvgHasTheLabelsAndIsComplete) {
  SvgPainter painter(900, 500);
  Figure f = figure_of(Kind::spectrum, tone(250e3));
  f.title = "a < b & c";
  paint(f, {900, 500}, painter);
  const std::string svg = painter.document();
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  for (const char* words : {"frequency, MHz", ">dBFS<", "434.17", "a &lt; b &amp; c"})
    EXPECT_THAT(svg, HasSubstr(words));
}

TEST(PlotPicture, RefusesAFolderThatDoesNotExist) {
  EXPECT_THROW(write_picture("/nonexistent/x.png", figure_of(Kind::spectrum, tone(0)), {}), SetupError);
  EXPECT_THROW(write_picture("/nonexistent/x.svg", figure_of(Kind::spectrum, tone(0)), {}), SetupError);
  EXPECT_TRUE(is_picture("a.png") && is_picture("a.svg") && !is_picture("a.jpg"));
}

TEST(StrokeFont, HasEveryCharacter) {
  for (char c = '!'; c <= '~'; ++c) {
    const auto strokes = strokes_of(std::string(1, c));
    EXPECT_FALSE(strokes.empty()) << c;
    for (const auto& stroke : strokes) {
      EXPECT_FALSE(stroke.empty()) << c;
      for (const Place2& p : stroke) {
        EXPECT_GE(p.x, 0) << c;
        EXPECT_LE(p.x, 4.0 / 6) << c;
        EXPECT_GE(p.y, -1) << c;
        EXPECT_LE(p.y, 0.5) << c;
      }
    }
  }
  EXPECT_GT(stroke_width_of("MHz"), stroke_width_of("Hz"));
}

}  // namespace
}  // namespace iqd::plot
