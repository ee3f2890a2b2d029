// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace iqd {
namespace {

constexpr int kMostDepth = 64;
constexpr std::int64_t kMostNodes = 1'000'000;

/// yaml-cpp refuses `@file.npy` without quotes, since YAML keeps the sign for later. So the parser gets another
/// character in its place, one that may not stand in a document, and every text is turned back.
constexpr char kAt = '\x01';

std::string with_at(std::string text) {
  std::replace(text.begin(), text.end(), kAt, '@');
  return text;
}

/// The text as yaml-cpp gets it. It ends in a comment, since a last newline closes a quote that nothing else closes.
std::string for_parser(std::string text) {
  std::replace(text.begin(), text.end(), '@', kAt);
  return text + "\n#";
}

/// What the operator reads instead of yaml-cpp's own words.
std::string plain_words(const std::string& message) {
  if (message == YAML::ErrorMsg::EOF_IN_SCALAR) return "a quote is not closed";
  if (message == YAML::ErrorMsg::END_OF_SEQ_FLOW) return "a '[' is not closed";
  if (message == YAML::ErrorMsg::END_OF_MAP_FLOW) return "a '{' is not closed";
  return with_at(message);
}

/// A mark as line and column that count from 1; what lies behind the last word is moved to it.
Place place_of(const YAML::Mark& mark, std::string_view text, const std::string& file) {
  if (mark.is_null() || mark.line < 0) return {file, 0, 0};
  const std::string_view said = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  const auto last = static_cast<int>(std::count(said.begin(), said.end(), '\n'));
  const auto width = static_cast<int>(said.size() - (said.rfind('\n') + 1));  // npos + 1 is 0
  if (mark.line > last || (mark.line == last && mark.column > width)) return {file, last + 1, width + 1};
  return {file, mark.line + 1, mark.column + 1};
}

struct Refused {
  YAML::Mark mark;
  std::string what;
};

/// Makes the tree out of the parser's events.
class Builder final : public YAML::EventHandler {
 public:
  Builder(Tree& tree, Problems& problems) : tree_(tree), problems_(problems) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (seen_) throw Refused{mark, "a second document begins here; a file holds one"};
    seen_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, create(Node::Kind::null, anchor));
    close(tree_.data.back());
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& value) override {
    Datum& datum = create(Node::Kind::scalar, anchor);
    datum.text = with_at(value);
    add(mark, datum);
    close(datum);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end() || found->second->open) throw Refused{mark, "an alias inside of its own anchor"};
    add(mark, *found->second);
    count(*found->second, mark);
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
  /// A list or a map whose end has not been read.
  struct Frame {
    Datum* datum;
    YAML::Mark mark;
    bool has_key = false;  // the next value belongs to `key`
    bool dropped = false;  // … and is thrown away
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
    if (static_cast<int>(frames_.size()) >= kMostDepth)
      throw Refused{mark, "nested more than " + std::to_string(kMostDepth) + " deep"};
    add(mark, datum);
    frames_.push_back({&datum, mark});
  }
  void end() {
    const Frame frame = std::move(frames_.back());
    frames_.pop_back();
    frame.datum->open = false;
    count(*frame.datum, frame.mark);
  }
  void close(Datum& datum) {
    datum.open = false;
    count(datum, {});
  }

  /// Adds a complete datum to the weight of what it stands in.
  void count(const Datum& datum, const YAML::Mark& mark) {
    if (frames_.empty()) return;
    Datum& parent = *frames_.back().datum;
    parent.weight += datum.weight;
    parent.height = std::max(parent.height, datum.height + 1);
    if (parent.weight > kMostNodes)
      throw Refused{mark, "more than " + std::to_string(kMostNodes) + " values, aliases counted"};
    if (static_cast<int>(frames_.size()) + datum.height > kMostDepth)
      throw Refused{mark, "nested more than " + std::to_string(kMostDepth) + " deep, aliases counted"};
  }

  void add(const YAML::Mark& mark, const Datum& datum) {
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
    // The parser has no place for a value that is not there.
    if (link.datum->kind == Node::Kind::null) link.line = frame.key.line, link.column = frame.key.column;
    frame.key.value = link;
    frame.datum->entries.push_back(std::move(frame.key));
  }

  void take_key(Frame& frame, const Link& link) {
    frame.has_key = true;
    frame.dropped = link.datum->kind != Node::Kind::scalar || link.datum->text.empty();
    frame.key = {link.datum->text, link.line, link.column, {}};
    if (frame.dropped) return complain(link, "", "a key must be a word");
    const auto [first, fresh] = frame.lines.emplace(frame.key.key, link.line);
    if (fresh) return;
    frame.dropped = true;
    complain(link, frame.key.key, "given twice; first in line " + std::to_string(first->second));
  }
  void complain(const Link& link, std::string path, std::string what) {
    problems_.push_back({{tree_.file, link.line, link.column}, std::move(path), std::move(what)});
  }

  Tree& tree_;
  Problems& problems_;
  std::deque<Frame> frames_;
  std::map<YAML::anchor_t, const Datum*> anchors_;
  bool seen_ = false;
};

}  // namespace

void parse_into(Tree& tree, const std::string& text, Problems& problems) {
  const std::size_t before = problems.size();
  // After a mistake in the syntax the parser guesses, and what looked wrong in its guesses is no news.
  const auto complain = [&](const YAML::Mark& mark, std::string what) {
    problems.resize(before);
    tree.root = {};
    problems.push_back({place_of(mark, text, tree.file), "", std::move(what)});
  };
  std::istringstream stream(for_parser(text));
  try {
    Builder builder(tree, problems);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& e) {
    complain(e.mark, e.what);
  } catch (const YAML::Exception& e) {
    complain(e.mark, "this is no YAML: " + plain_words(e.msg));
  }
}

}  // namespace iqd
