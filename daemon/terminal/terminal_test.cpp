// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/terminal/terminal.hpp"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <string>

#include "daemon/terminal/live_area.hpp"

namespace iqd::terminal {
namespace {

TEST(TerminalText, ColoursTakeNoColumns) {
  const Paint paint(true);
  EXPECT_EQ(width_of("µs …"), 4);
  EXPECT_EQ(width_of(paint(Tone::bad, "lost")), 4);
  EXPECT_EQ(Paint(false)(Tone::bad, "lost"), "lost");
}

TEST(TerminalText, IsCutAtCharactersNotAtBytes) {
  EXPECT_EQ(clipped("µµµµ", 4), "µµµµ");
  EXPECT_EQ(clipped("µµµµ", 3), "µµ…");
  EXPECT_EQ(clipped("abc", 0), "");
  const std::string coloured = clipped(Paint(true)(Tone::bad, "a long text"), 5);
  EXPECT_EQ(width_of(coloured), 5);
  EXPECT_TRUE(coloured.ends_with("\x1b[0m")) << "the colour ends";
}

TEST(TerminalText, IsCutAtItsFront) {
  EXPECT_EQ(clipped_front("tcp://127.0.0.1:6001", 12), "….0.0.1:6001");
  EXPECT_EQ(clipped_front("µµµµ", 4), "µµµµ");
  EXPECT_EQ(clipped_front("µµµµ", 3), "…µµ");
  EXPECT_EQ(clipped_front("abc", 1), "…");
  EXPECT_EQ(clipped_front("abc", 0), "");
}

TEST(Terminal, AFileIsNone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Terminal terminal = terminal_on(ends[1]);
  EXPECT_FALSE(terminal.is_one || terminal.can_redraw);
  EXPECT_EQ(terminal.colours, Colours::none);
  for (const int end : ends) ::close(end);
}

/// A terminal of 40 columns and 5 rows, and what was written to it.
class PseudoTerminal {
 public:
  PseudoTerminal() {
    const winsize size{5, 40, 0, 0};
    EXPECT_EQ(::openpty(&ours_, &theirs_, nullptr, nullptr, &size), 0);
  }
  ~PseudoTerminal() {
    ::close(ours_);
    ::close(theirs_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  int file() const { return theirs_; }
  void resize(unsigned short columns, unsigned short rows) const {
    const winsize size{rows, columns, 0, 0};
    EXPECT_EQ(::ioctl(ours_, TIOCSWINSZ, &size), 0);
  }
  std::string read() const {
    std::array<char, 4096> text{};
    const auto bytes = ::read(ours_, text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(bytes > 0 ? bytes : 0)};
  }

 private:
  int ours_ = -1;
  int theirs_ = -1;
};

TEST(LiveArea, IsRedrawnInPlaceAndCut) {
  const PseudoTerminal terminal;
  LiveArea area(terminal.file());
  area.show({"one", std::string(100, 'x')});
  const std::string first = terminal.read();
  EXPECT_EQ(first.find("\x1b[2A"), first.npos);
  EXPECT_NE(first.find(std::string(38, 'x') + "…"), first.npos) << first;
  area.show({"1", "2", "3", "4", "5", "6"});
  const std::string second = terminal.read();
  EXPECT_NE(second.find("\x1b[2A1"), second.npos) << "from the first line on: " << second;
  EXPECT_NE(second.find('4'), second.npos);
  EXPECT_EQ(second.find('5'), second.npos) << "the terminal has five lines, and the cursor needs one";
  area.clear();
  EXPECT_NE(terminal.read().find("\x1b[4A\x1b[J"), first.npos);
}

TEST(LiveArea, IsErasedBeforeItIsRedrawnInAnotherSize) {
  const PseudoTerminal terminal;
  LiveArea area(terminal.file());
  area.show({std::string(30, 'x'), "two"});
  terminal.read();
  area.show({"1", "2"});
  EXPECT_EQ(terminal.read().find("\x1b[J1"), std::string::npos) << "it would flicker";
  area.show({std::string(30, 'x'), "two"});
  terminal.read();
  terminal.resize(20, 5);
  area.show({"1", "2"});
  const std::string narrow = terminal.read();
  EXPECT_NE(narrow.find("\x1b[3A\x1b[J1"), narrow.npos) << "the first line was wrapped: " << narrow;
  terminal.resize(20, 2);
  area.show({"1", "2"});
  const std::string low = terminal.read();
  EXPECT_NE(low.find("\x1b[2J\x1b[H"), low.npos) << "it no longer fits: " << low;
}

}  // namespace
}  // namespace iqd::terminal
