// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace iqd::terminal {

struct Size {
  int columns = 80;
  int rows = 24;
  friend bool operator==(const Size&, const Size&) = default;
};

enum class Colours : std::uint8_t { none, basic, indexed, full };  // 0, 16, 256 or all

/// What the program on the other side of a file descriptor can show.
struct Terminal {
  bool is_one = false;      // false: a file or a pipe
  bool can_redraw = false;  // understands movements of the cursor
  Colours colours = Colours::none;
};
/// By the kind of file and the environment: TERM, COLORTERM, NO_COLOR.
Terminal terminal_on(int file);
/// Its current size; 80 by 24, or COLUMNS and LINES, if that is unknown.
Size size_of(int file);

/// How important a word is, for its colour.
enum class Tone : std::uint8_t { plain, faint, strong, good, warning, bad };

/// Colours words, or leaves them as they are.
class Paint {
 public:
  explicit Paint(bool colours) : colours_(colours) {}
  std::string operator()(Tone tone, std::string_view text) const;

 private:
  bool colours_;
};

/// The columns that a text takes: its characters, without colours.
int width_of(std::string_view text);
/// The text, shortened with … to these columns; colours end with it.
std::string clipped(std::string_view text, int columns);
/// The end of a text without colours, after … if it does not fit.
std::string clipped_front(std::string_view text, int columns);

}  // namespace iqd::terminal
