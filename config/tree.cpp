// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>

#include "config/text_check.hpp"

namespace iqd {
namespace {

constexpr std::size_t kMostDepth = 64;
constexpr std::int64_t kMostNodes = 1'000'000;
constexpr std::size_t kMostKeys = 10'000;
constexpr std::size_t kMostProblems = 1000;
/// The parser buffers its input until its next event, at up to 150 bytes per character.
constexpr std::size_t kMostBetween = 1u << 20;
/// Unclosed brackets in that input; each costs more than other characters.
constexpr std::size_t kMostOpened = 1000;

/// yaml-cpp refuses `@file.npy` without quotes, since YAML reserves the character. So the parser gets another one
/// instead, which documents cannot contain, and every text is converted back.
constexpr char kAt = '\x01';

std::string with_at(std::string text) {
  std::replace(text.begin(), text.end(), kAt, '@');
  return text;
}

/// The text for yaml-cpp. It ends in a comment, since a final newline would close an unclosed quote.
std::string for_parser(std::string text) {
  std::replace(text.begin(), text.end(), '@', kAt);
  return text + "\n#";
}

/// A clearer message than yaml-cpp's.
std::string plain_words(const std::string& message) {
  if (message == YAML::ErrorMsg::EOF_IN_SCALAR) return "a quote is not closed";
  if (message == YAML::ErrorMsg::END_OF_SEQ_FLOW) return "a '[' is not closed";
  if (message == YAML::ErrorMsg::END_OF_MAP_FLOW) return "a '{' is not closed";
  return with_at(message);
}

/// A mark as line and column counted from 1; a mark after the last word is moved to the word's end.
Place place_of(const YAML::Mark& mark, std::string_view text, const std::string& file) {
  if (mark.is_null() || mark.line < 0) return {file, 0, 0};
  const std::string_view said = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  const auto last = static_cast<int>(std::count(said.begin(), said.end(), '\n'));
  const auto width = static_cast<int>(said.size() - (said.rfind('\n') + 1));  // npos + 1 is 0
  if (mark.line > last || (mark.line == last && mark.column > width)) return {file, last + 1, width + 1};
  return {file, mark.line + 1, mark.column + 1};
}

/// The message, with the bracket of an earlier line that may be its cause.
std::string syntax_error(const YAML::Exception& e, std::string_view text) {
  const std::string words = plain_words(e.msg);
  const auto open = open_bracket(text, place_of(e.mark, text, "").line);
  if (!open) return words;
  const std::string bracket = std::string("the '") + open->second + "' of line " + std::to_string(open->first);
  return words.starts_with("a '") ? bracket + " is not closed" : words + "; is " + bracket + " closed?";
}

struct Refused {
  YAML::Mark mark;
  std::string what;
};

std::string too_deep() {
  return "nested more than " + std::to_string(kMostDepth) + " deep";
}

/// The text as a stream that ends where the parser would buffer too much: it looks ahead without limit for the end of a
/// possible key.
class Feed final : public std::streambuf {
 public:
  explicit Feed(std::string_view text) : text_(text) {}
  /// The parser has emitted an event for this place.
  void given(const YAML::Mark& mark) {
    last_ = mark;
    opened_.clear();
    given_ = end_;
  }
  /// Where and why the stream ended early.
  const std::optional<Refused>& refused() const { return refused_; }

 private:
  int_type underflow() override {
    if (refused_ || end_ == text_.size()) return traits_type::eof();
    constexpr std::size_t kPiece = 1 << 10;
    const std::string_view piece = text_.substr(end_, kPiece);
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const char c = piece[i];
      if (c == '[' || c == '{') opened_.push_back(end_ + i);
      if ((c == ']' || c == '}') && !opened_.empty()) opened_.pop_back();
    }
    if (opened_.size() > kMostOpened) {
      refused_ = Refused{mark_at(opened_[kMostDepth]), too_deep()};
    } else if (end_ + piece.size() - given_ > kMostBetween) {
      refused_ = Refused{last_, "more than 1 MiB follows; break the lines of a long list, or keep it in a file"};
    }
    if (refused_) return traits_type::eof();
    end_ += piece.size();
    char* const begin = const_cast<char*>(piece.data());  // it is only read
    setg(begin, begin, begin + piece.size());
    return traits_type::to_int_type(*begin);
  }

  YAML::Mark mark_at(std::size_t offset) const {
    const std::string_view before = text_.substr(0, offset);
    YAML::Mark mark;
    mark.line = static_cast<int>(std::ranges::count(before, '\n'));
    mark.column = static_cast<int>(offset - (before.rfind('\n') + 1));  // npos + 1 is 0
    return mark;
  }

  std::string_view text_;
  std::size_t end_ = 0;              // of the text given to the parser
  std::size_t given_ = 0;            // `end_` at the last event
  std::vector<std::size_t> opened_;  // places of unclosed brackets since then
  YAML::Mark last_;
  std::optional<Refused> refused_;
};

/// Builds the tree from the parser's events.
class Builder final : public YAML::EventHandler {
 public:
  Builder(Tree& tree, Feed& feed, Problems& problems) : tree_(tree), feed_(feed), problems_(problems) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (seen_) throw Refused{mark, "a second document begins here; a file holds one"};
    seen_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, create(Node::Kind::null, anchor));
    close(mark, tree_.data.back());
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& value) override {
    Datum& datum = create(Node::Kind::scalar, anchor);
    datum.text = with_at(value);
    add(mark, datum);
    close(mark, datum);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end() || found->second->open) throw Refused{mark, "an alias within its own anchor"};
    add(mark, *found->second);
    count(*found->second, mark, ", aliases counted");
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(mark, create(Node::Kind::sequence, anchor));
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(mark, create(Node::Kind::map, anchor));
  }
  void OnMapEnd() override { end(); }

 private:
  /// A list or a map whose end has not been read yet.
  struct Frame {
    Datum* datum;
    YAML::Mark mark;
    bool has_key = false;  // the next value belongs to `key`
    bool dropped = false;  // … and is discarded
    Entry key = {};
    std::map<std::string, int> lines = {};  // of the keys so far
  };

  Datum& create(Node::Kind kind, YAML::anchor_t anchor) {
    Datum& datum = tree_.data.emplace_back();
    datum.kind = kind;
    if (anchor != 0) anchors_[anchor] = &datum;
    return datum;
  }

  void start(const YAML::Mark& mark, Datum& datum) {
    if (frames_.size() >= kMostDepth) throw Refused{mark, too_deep()};
    add(mark, datum);
    frames_.push_back({&datum, mark});
  }
  void end() {
    const Frame frame = std::move(frames_.back());
    frames_.pop_back();
    frame.datum->open = false;
    count(*frame.datum, frame.mark);
  }
  void close(const YAML::Mark& mark, Datum& datum) {
    datum.open = false;
    count(datum, mark);
  }

  /// Adds a complete datum to the weight of its parent.
  void count(const Datum& datum, const YAML::Mark& mark, std::string_view how = "") {
    if (frames_.empty()) return;
    Datum& parent = *frames_.back().datum;
    parent.weight += datum.weight;
    parent.height = std::max(parent.height, datum.height + 1);
    if (parent.weight > kMostNodes)
      throw Refused{mark, "more than " + std::to_string(kMostNodes) + " values, aliases counted"};
    if (frames_.size() + datum.height > kMostDepth) throw Refused{mark, too_deep().append(how)};
  }

  void add(const YAML::Mark& mark, const Datum& datum) {
    feed_.given(mark);
    const Link link{&datum, mark.line + 1, mark.column + 1};
    if (frames_.empty()) {
      tree_.root = link;
    } else if (Frame& frame = frames_.back(); frame.datum->kind == Node::Kind::sequence) {
      frame.datum->items.push_back(link);
    } else if (frame.has_key) {
      add_value(frame, link);
    } else {
      take_key(frame, link);
    }
  }

  static void add_value(Frame& frame, Link link) {
    frame.has_key = false;
    if (frame.dropped) return;
    // The parser gives no place for an empty value.
    if (link.datum->kind == Node::Kind::null) link.line = frame.key.line, link.column = frame.key.column;
    frame.key.value = link;
    frame.datum->entries.push_back(std::move(frame.key));
  }

  void take_key(Frame& frame, const Link& link) {
    if (frame.lines.size() >= kMostKeys) throw Refused{mark_of(link), "more than 10000 keys in a map"};
    frame.has_key = true;
    frame.dropped = link.datum->kind != Node::Kind::scalar || link.datum->text.empty();
    frame.key = {link.datum->text, link.line, link.column, {}};
    if (frame.dropped) return complain(link, "", "a key must be a word");
    const auto [first, fresh] = frame.lines.emplace(frame.key.key, link.line);
    if (fresh) return;
    frame.dropped = true;
    complain(link, frame.key.key, "given twice; first in line " + std::to_string(first->second));
  }
  static YAML::Mark mark_of(const Link& link) {
    YAML::Mark mark;
    mark.line = link.line - 1;
    mark.column = link.column - 1;
    return mark;
  }
  void complain(const Link& link, std::string path, std::string what) {
    if (++complaints_ > kMostProblems) throw Refused{mark_of(link), what + ", like 1000 others before"};
    problems_.push_back({{tree_.file, link.line, link.column}, std::move(path), std::move(what)});
  }

  Tree& tree_;
  Feed& feed_;
  Problems& problems_;
  std::size_t complaints_ = 0;
  std::deque<Frame> frames_;
  std::map<YAML::anchor_t, const Datum*> anchors_;
  bool seen_ = false;
};

}  // namespace

void parse_into(Tree& tree, const std::string& text, Problems& problems) {
  const std::size_t before = problems.size();
  // After a syntax error the parser guesses, so problems found after it are dropped.
  const auto complain = [&](const YAML::Mark& mark, std::string what) {
    problems.resize(before);
    tree.root = {};
    problems.push_back({place_of(mark, text, tree.file), "", std::move(what)});
  };
  const std::string input = for_parser(text);
  Feed feed(input);
  std::istream stream(&feed);
  try {
    Builder builder(tree, feed, problems);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& e) {
    complain(e.mark, e.what);
  } catch (const YAML::Exception& e) {
    if (!feed.refused()) complain(e.mark, "invalid YAML: " + syntax_error(e, text));
  }
  if (feed.refused()) complain(feed.refused()->mark, feed.refused()->what);
}

}  // namespace iqd
