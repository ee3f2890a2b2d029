// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/log_terminal.hpp"
#include "daemon/terminal/terminal.hpp"

namespace iqd::terminal {

/// Lines at the end of a terminal that are redrawn in place. Lines of the log appear above them. One thread, except for
/// the log's calls.
class LiveArea final : public log::Footer {
 public:
  /// `file`: a terminal that can redraw.
  explicit LiveArea(int file);
  /// The lines stay.
  ~LiveArea() override;
  LiveArea(const LiveArea&) = delete;
  LiveArea& operator=(const LiveArea&) = delete;

  /// Replaces the lines; those too long or too many for the terminal are cut.
  void show(std::vector<std::string> lines);
  /// Removes the lines.
  void clear();

  void erase() noexcept override;
  void draw() noexcept override;

 private:
  std::string to_top(const Size& size) const;
  void put(const std::string& text) const noexcept;

  const int file_;
  std::vector<std::string> lines_;
  std::vector<int> drawn_;  // widths of the lines on the terminal
  Size drawn_at_;           // its size at that time
};

}  // namespace iqd::terminal
