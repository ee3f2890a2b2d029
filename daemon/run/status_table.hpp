// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/run/status_facts.hpp"

namespace iqd {

/// The status as a table: a header, and for each pipeline a row with its details below. `room`: narrow terminals lose
/// columns, low ones lose details, the least important first. No line is wider than `room.columns`.
std::vector<std::string> status_table(const std::vector<StatusFacts>& pipelines, const std::vector<Detail>& radios,
                                      terminal::Size room, terminal::Paint paint);

/// The same for a file: one line for each pipeline, with its details at the end.
std::string status_header();
std::string status_line(const StatusFacts& pipeline);

/// Lines `label  item  item …`, not wider than `columns`.
std::vector<std::string> detail_lines(std::string_view label, const std::vector<Phrase>& items, int columns,
                                      terminal::Paint paint);

}  // namespace iqd
