// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/open_radios.hpp"
#include "daemon/terminal/terminal.hpp"
#include "pipeline/pipeline.hpp"

namespace iqd {

/// A few words, and how important they are.
struct Phrase {
  std::string text;
  terminal::Tone tone = terminal::Tone::plain;
};

/// Facts of one kind about one thing: `events framer: good 12, bad_crc 1`.
struct Detail {
  /// In the order of importance: what is left out first, if there is little room, comes last.
  enum class Kind : std::uint8_t { trouble, dropped, faults, events, radio, readers, levels, input, topics };
  static constexpr std::array<std::string_view, 9> kNames{"trouble", "dropped", "faults", "events", "radio",
                                                          "readers", "levels",  "input",  "topics"};
  Kind kind;
  std::string subject;  // a stage, a channel, an endpoint
  std::vector<Phrase> items;

  std::string_view name() const noexcept { return kNames[static_cast<std::size_t>(kind)]; }
};

/// What a person wants to know about a running pipeline: a row of cells, and details.
struct StatusFacts {
  static constexpr std::array<std::string_view, 10> kColumns{"PIPELINE", "STATE", "RATE", "BLOCKS",  "p50",
                                                             "p99",      "MAX",   "LOST", "DROPPED", "RECONNECTS"};
  std::array<Phrase, kColumns.size()> cells;
  std::vector<Detail> details;
};

/// `then`: the same pipeline `seconds` before, or an empty status. Rates, and the percentiles of the latency, are those
/// of this time.
StatusFacts facts_of(const PipelineStatus& now, const PipelineStatus& then, double seconds);
/// The locks and readings of the open radios.
std::vector<Detail> facts_of(const std::vector<OpenRadio>& radios);

/// What happened in total, for the details of a summary: trouble is left out.
std::vector<Detail> totals_of(const PipelineStatus& status);

/// `1.25 ms`, `-` for none.
std::string duration_text(double ns);

}  // namespace iqd
