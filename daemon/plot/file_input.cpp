// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/file_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "config/document.hpp"
#include "config/reader.hpp"
#include "radio/drivers.hpp"

namespace iqd::plot {
namespace {

constexpr std::int64_t kMostAtOnce = 1 << 18;

/// Checks the keys as those in a pipeline file.
std::unique_ptr<SourceOptions> options_for(const std::string& path, const FileKeys& keys) {
  nlohmann::ordered_json given = {{"path", path}};
  if (!keys.format.empty()) given["format"] = keys.format;
  if (!keys.rate.empty()) given["rate"] = keys.rate;
  if (!keys.frequency.empty()) given["frequency"] = keys.frequency;
  if (keys.channels > 0) given["channels"] = keys.channels;
  Problems problems;
  const Document document = parse_document(given.dump(), "", problems);
  std::unique_ptr<SourceOptions> options = find_driver("file")->make_source();
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { options->fields(v); }, problems);
  if (problems.empty()) options->describe(section);
  std::string all;
  for (const Problem& p : problems)
    all += (all.empty() ? "" : "\niqd: ") + (p.path == "path" ? "" : p.path + ": ") + p.what;
  if (!all.empty()) throw UsageError("plot: " + all);
  return options;
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

FileInput::FileInput(const std::string& path, const FileKeys& keys)
    : path_(path), options_(options_for(path, keys)), source_(options_->open()), info_(source_->info()) {
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
