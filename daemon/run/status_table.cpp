// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/status_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace iqd {
namespace {

using terminal::Paint;
using terminal::Tone;
using terminal::width_of;

constexpr std::size_t kCount = StatusFacts::kColumns.size();
constexpr std::size_t kWords = 2;  // the first columns are words, aligned to the left; the others are numbers
/// Which columns a narrow terminal loses: BLOCKS first.
constexpr std::array<std::size_t, 8> kLeaveOut{3, 9, 4, 6, 5, 7, 2, 8};
constexpr int kGap = 2;
constexpr int kNarrow = 70;  // columns; narrower, details are not aligned

using Widths = std::array<int, kCount>;  // 0: left out

int sum_of(const Widths& widths) {
  int sum = 0;
  for (const int w : widths) sum += w > 0 ? w + kGap : 0;
  return sum - kGap;
}

Widths widths_for(const std::vector<StatusFacts>& pipelines, int columns) {
  Widths widths{};
  for (std::size_t c = 0; c < kCount; ++c) {
    widths[c] = width_of(StatusFacts::kColumns[c]);
    for (const StatusFacts& p : pipelines) widths[c] = std::max(widths[c], width_of(p.cells[c].text));
  }
  // So that the table does not jump when a number gets a digit.
  for (const std::size_t c : {2u, 3u, 4u, 5u, 6u}) widths[c] = std::max(widths[c], c == 2 ? 12 : 8);
  widths[1] = std::max(widths[1], 9);
  for (const std::size_t c : kLeaveOut)
    if (sum_of(widths) > columns) widths[c] = 0;
  return widths;
}

std::string row_of(const std::array<Phrase, kCount>& cells, const Widths& widths, Paint paint) {
  std::string row;
  for (std::size_t c = 0; c < kCount; ++c) {
    if (widths[c] == 0) continue;
    const std::string pad(static_cast<std::size_t>(std::max(0, widths[c] - width_of(cells[c].text))), ' ');
    const std::string text = paint(cells[c].tone, cells[c].text);
    row += (row.empty() ? "" : "  ") + (c < kWords ? text + pad : pad + text);
  }
  return row;
}

std::array<Phrase, kCount> header_cells() {
  std::array<Phrase, kCount> cells;
  for (std::size_t c = 0; c < kCount; ++c) cells[c] = {std::string(StatusFacts::kColumns[c]), Tone::faint};
  return cells;
}

/// Addresses differ at their ends.
std::string clipped_subject(const Detail& d, int columns) {
  const bool is_address = d.subject.find("://") != std::string::npos;
  return is_address ? terminal::clipped_front(d.subject, columns) : terminal::clipped(d.subject, columns);
}
/// Takes at most half of the line.
std::string narrow_label(const Detail& d, int widest, int columns) {
  const int room = columns / 2 - 3 - width_of(d.name());
  return fmt::format("  {} {}", d.name(), clipped_subject(d, std::min(widest, room)));
}
/// `name`: empty if it is that of the line above.
std::string wide_label(const Detail& d, std::string_view name, int widest) {
  const std::string subject = clipped_subject(d, widest);
  const auto pad = static_cast<std::size_t>(std::max(0, widest - width_of(subject)));
  return fmt::format("  {:<8} {}{}", name, subject, std::string(pad, ' '));
}

/// Details up to and including this kind.
std::vector<std::string> table(const std::vector<StatusFacts>& pipelines, const std::vector<Detail>& radios, int kinds,
                               int columns, Paint paint) {
  const Widths widths = widths_for(pipelines, columns);
  std::vector<std::string> lines{row_of(header_cells(), widths, paint)};
  int widest = 0;
  const auto is_shown = [&](const Detail& d) { return static_cast<int>(d.kind) < kinds; };
  const auto measure = [&](const std::vector<Detail>& details) {
    for (const Detail& d : details) widest = std::max(widest, width_of(d.subject));
  };
  for (const StatusFacts& p : pipelines) measure(p.details);
  widest = std::min(widest, std::max(columns / 3, 8));
  const auto add = [&](const std::vector<Detail>& details) {
    std::string_view before;
    for (const Detail& d : details) {
      if (!is_shown(d)) continue;
      const std::string_view name = d.name() == before ? "" : d.name();
      const std::string label = columns < kNarrow ? narrow_label(d, widest, columns) : wide_label(d, name, widest);
      before = d.name();
      for (std::string& line : detail_lines(label, d.items, columns, paint)) lines.push_back(std::move(line));
    }
  };
  for (const StatusFacts& p : pipelines) {
    lines.push_back(row_of(p.cells, widths, paint));
    add(p.details);
  }
  add(radios);
  return lines;
}

}  // namespace

std::vector<std::string> detail_lines(std::string_view label, const std::vector<Phrase>& items, int columns,
                                      Paint paint) {
  std::vector<std::string> lines;
  const int indent = std::min(width_of(label), columns / 2);
  std::string line = paint(Tone::faint, terminal::clipped(label, indent));
  int width = indent;
  bool is_first = true;
  for (const Phrase& item : items) {
    const int more = kGap + width_of(item.text);
    if (!is_first && width + more > columns) {
      lines.push_back(std::move(line));
      line = std::string(static_cast<std::size_t>(indent), ' ');
      width = indent;
    }
    line += "  " + paint(item.tone, item.text);
    width += more;
    is_first = false;
  }
  lines.push_back(std::move(line));
  for (std::string& l : lines) l = terminal::clipped(l, columns);
  return lines;
}

std::vector<std::string> status_table(const std::vector<StatusFacts>& pipelines, const std::vector<Detail>& radios,
                                      terminal::Size room, Paint paint) {
  std::vector<std::string> lines;
  for (int kinds = static_cast<int>(Detail::kNames.size()); kinds >= 0; --kinds) {
    lines = table(pipelines, radios, kinds, room.columns, paint);
    if (std::ssize(lines) <= room.rows) break;
  }
  if (const auto left = std::ssize(lines) - (room.rows - 1); left > 1) {
    lines.resize(static_cast<std::size_t>(std::max(room.rows - 1, 0)));
    lines.push_back(paint(Tone::faint, fmt::format("… {} more", left)));
  }
  for (std::string& line : lines) line = terminal::clipped(line, room.columns);
  return lines;
}

std::string status_header() {
  return "# " + row_of(header_cells(), {12, 9, 12, 8, 8, 8, 8, 6, 7, 10}, Paint(false));
}

std::string status_line(const StatusFacts& p) {
  std::string line = "  " + row_of(p.cells, {12, 9, 12, 8, 8, 8, 8, 6, 7, 10}, Paint(false));
  for (const Detail& d : p.details) {
    if (d.kind == Detail::Kind::topics) continue;
    line += fmt::format("  | {} {}:", d.name(), d.subject);
    for (const Phrase& item : d.items) line += " " + item.text + (&item == &d.items.back() ? "" : ",");
  }
  return line;
}

}  // namespace iqd
