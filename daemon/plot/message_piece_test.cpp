// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/message_piece.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/plot/plots.hpp"

namespace iqd::plot {
namespace {

/// A message with this header and payload.
class SpectrumMessage {
 public:
  explicit SpectrumMessage(nlohmann::json header, const std::vector<float>& values) : values_(values) {
    head_ = "topic " + header.dump();
    view_ = read_message(head_, std::as_bytes(std::span(values_)), why_);
    EXPECT_TRUE(view_) << why_;
  }
  Piece piece() const { return piece_of(*view_); }

 private:
  std::vector<float> values_;
  std::string head_, why_;
  std::optional<MessageView> view_;
};

TEST(MessagePiece, BinsHaveTheFrequenciesOfTheHeader) {
  nlohmann::json header = {{"dtype", "<f4"},        {"shape", {8}},    {"dims", {"bin"}}, {"sample_rate", 800.0},
                           {"frequency", 10'000.0}, {"port", "s.out"}, {"pipeline", "p"}};
  const std::vector<float> values{-90, -90, -90, -10, -90, -90, -90, -90};
  const Piece derived = SpectrumMessage(header, values).piece();
  EXPECT_EQ(derived.of, Piece::Of::bins);
  EXPECT_EQ(derived.bins.first_hz, 10'000 - 4 * 100);
  EXPECT_FALSE(derived.bins.is_sure);
  header["axes"] = {{"bin", {{"first", 5000.0}, {"step", 25.0}, {"unit", "Hz"}}}};
  const Piece stated = SpectrumMessage(header, values).piece();
  EXPECT_EQ(stated.bins.first_hz, 5000);
  EXPECT_EQ(stated.bins.step_hz, 25);
  EXPECT_TRUE(stated.bins.is_sure);
  const auto plot = make_plot(Kind::automatic, stated, {});
  plot->add(stated);
  const Figure f = plot->figure();
  EXPECT_NEAR(f.marks.at(0).x, 5.075, 1e-6) << f.x.label;
}

TEST(MessagePiece, BinsOfSeveralChannelsAreOffsets) {
  nlohmann::json header = {{"dtype", "<f4"},       {"shape", {2, 4}},       {"dims", {"channel", "bin"}},
                           {"sample_rate", 800.0}, {"frequency", 10'000.0}, {"span", 100.0}};
  header["axes"] = {{"channel", {{"values", {10'000, 10'100}}, {"unit", "Hz"}}}};
  const Piece piece = SpectrumMessage(header, std::vector<float>(8, 0)).piece();
  EXPECT_EQ(piece.bins.first_hz, -50);
  EXPECT_EQ(piece.bins.step_hz, 25);
  EXPECT_TRUE(piece.bins.is_offset);
}

TEST(MessagePiece, BinsAreDrawnFromTheLowestFrequencyOn) {
  nlohmann::json header = {{"dtype", "<f4"}, {"shape", {2, 5}}, {"dims", {"frame", "bin"}}, {"sample_rate", 500.0}};
  const std::vector<float> values{0, 1, 2, 3, 4, 10, 11, 12, 13, 14};
  for (const char* axis :
       {R"({"values": [1000, 1100, 1200, 800, 900]})", R"({"first": 1000, "step": 100, "wrap": 3})"}) {
    header["axes"] = {{"bin", nlohmann::json::parse(axis)}};
    const Piece piece = SpectrumMessage(header, values).piece();
    EXPECT_EQ(piece.values, (std::vector<std::vector<float>>{{3, 4, 0, 1, 2}, {13, 14, 10, 11, 12}})) << axis;
    EXPECT_EQ(piece.bins.first_hz, 800);
    EXPECT_EQ(piece.bins.step_hz, 100);
    EXPECT_TRUE(piece.bins.is_sure);
  }
  header["axes"] = {{"bin", {{"first", 1200}, {"step", -100}}}};
  const Piece mirrored = SpectrumMessage(header, values).piece();
  EXPECT_EQ(mirrored.values.front(), (std::vector<float>{4, 3, 2, 1, 0}));
  EXPECT_EQ(mirrored.bins.first_hz, 800);
  EXPECT_EQ(mirrored.bins.step_hz, 100);
}

TEST(MessagePiece, ThePositionCountsItems) {
  nlohmann::json header = {{"dtype", "<c8"}, {"shape", {4}}, {"dims", {"n"}}, {"sample_rate", 8e6}, {"sample", 4000}};
  const std::vector<float> values(8);
  EXPECT_EQ(SpectrumMessage(header, values).piece().first, 4000);
  header["item_rate"] = 2e6;
  EXPECT_EQ(SpectrumMessage(header, values).piece().first, 1000);
  header.erase("sample");
  EXPECT_EQ(SpectrumMessage(header, values).piece().first, std::nullopt);
}

TEST(MessagePiece, WhatIsComplexIsAStreamOrSymbols) {
  nlohmann::json header = {{"dtype", "<c8"},     {"shape", {2, 2}},  {"dims", {"channel", "n"}},
                           {"sample_rate", 8e6}, {"item_rate", 2e6}, {"frequency", 100e6}};
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8};
  const Piece stream = SpectrumMessage(header, values).piece();
  EXPECT_EQ(stream.of, Piece::Of::samples);
  EXPECT_EQ(stream.rate_hz, 2e6);
  ASSERT_EQ(stream.rows(), 2u);
  EXPECT_EQ(stream.samples[1][0], cf32(5, 6));
  header["mirrored"] = true;
  EXPECT_EQ(SpectrumMessage(header, values).piece().samples[1][0], cf32(5, -6)) << "on the air";
  header["dims"] = {"packet", "symbol"};
  EXPECT_EQ(SpectrumMessage(header, values).piece().of, Piece::Of::symbols);
  header["dtype"] = "<f4";
  header["shape"] = {8};
  header["dims"] = {"n"};
  EXPECT_EQ(natural_kind(SpectrumMessage(header, values).piece()), Kind::time);
}

}  // namespace
}  // namespace iqd::plot
