// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/file_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "config/quantity.hpp"
#include "radio/file/file_source.hpp"

namespace iqd::plot {
namespace {

constexpr std::int64_t kMostAtOnce = 1 << 18;

double quantity_of(const char* option, const std::string& text, Unit unit) {
  std::string why;
  const auto value = parse_quantity(text, unit, why);
  if (!value || !(*value >= 0)) throw UsageError(fmt::format("plot: {}: {}", option, why.empty() ? "0 or more" : why));
  return *value;
}

radio::RecordingKeys keys_of(const FileKeys& keys) {
  radio::RecordingKeys given{.format = keys.format,
                             .channels = keys.channels,
                             .wording = {.rate = "give --rate", .format = "give --format (and --rate)"}};
  if (!keys.rate.empty()) given.rate_hz = quantity_of("--rate", keys.rate, Unit::rate);
  if (!keys.frequency.empty()) given.frequency_hz = quantity_of("--frequency", keys.frequency, Unit::hertz);
  return given;
}

/// The source, and whether its rate is known: without one, it is 1.
std::pair<std::unique_ptr<Source>, bool> open_file(const std::string& path, const FileKeys& keys) {
  radio::RecordingKeys given = keys_of(keys);
  std::vector<std::string> problems;
  radio::Recording recording = radio::read_recording(path, problems, given);
  bool has_rate = true;
  if (!problems.empty() && given.rate_hz == 0) {
    std::vector<std::string> others;
    given.rate_hz = 1;
    radio::Recording without = radio::read_recording(path, others, given);
    if (others.empty()) recording = std::move(without), problems.clear(), has_rate = false;
  }
  if (!problems.empty()) throw UsageError(fmt::format("plot: {}", fmt::join(problems, "\niqd: ")));
  return {std::make_unique<radio::FileSource>(std::move(recording), radio::FileSourceSettings{}), has_rate};
}

template <class T> void append(Piece& piece, const std::byte* from, std::int64_t samples) {
  const auto* values = reinterpret_cast<const T*>(from);
  if constexpr (std::is_same_v<T, cf32>) {
    piece.samples.emplace_back(values, values + samples);
  } else if constexpr (std::is_same_v<T, sc16>) {
    std::vector<cf32>& row = piece.samples.emplace_back();
    for (std::int64_t i = 0; i < samples; ++i)
      row.emplace_back(static_cast<float>(values[i].re) / 32768, static_cast<float>(values[i].im) / 32768);
  } else {
    piece.of = Piece::Of::values;
    std::vector<float>& row = piece.values.emplace_back();
    for (std::int64_t i = 0; i < samples; ++i) {
      if constexpr (std::is_same_v<T, f16>)
        row.push_back(to_float(values[i]));
      else
        row.push_back(static_cast<float>(values[i]));
    }
  }
}

}  // namespace

FileInput::FileInput(const std::string& path, const FileKeys& keys) : path_(path) {
  std::tie(source_, has_rate_) = open_file(path, keys);
  info_ = source_->info();
  const std::size_t bytes = static_cast<std::size_t>(kMostAtOnce) * iqd::size_of(info_.element);
  memory_.assign(static_cast<std::size_t>(info_.channels), std::vector<std::byte>(bytes));
}

void FileInput::skip(std::int64_t samples) {
  while (samples > 0) {
    const std::optional<Piece> piece = next(samples);
    if (!piece) throw UsageError(fmt::format("plot: {} is shorter than --start", path_));
    samples -= piece->length();
  }
}

std::optional<Piece> FileInput::next(std::int64_t most) {
  std::vector<std::byte*> into;
  for (std::vector<std::byte>& channel : memory_) into.push_back(channel.data());
  for (;;) {
    const Received received = source_->receive(into, std::min(most, kMostAtOnce));
    if (received.event == Received::Event::end) return std::nullopt;
    if (received.event == Received::Event::failed) throw SetupError(fmt::format("{}: cannot read", path_));
    if (received.samples == 0) continue;
    Piece piece;
    piece.rate_hz = info_.rate_hz;
    piece.frequency_hz = source_->info().frequency_hz;
    piece.name = std::filesystem::path(path_).filename().string();
    for (const std::byte* channel : into)
      with_element(info_.element, [&]<class T>(T) { append<T>(piece, channel, received.samples); });
    return piece;
  }
}

}  // namespace iqd::plot
