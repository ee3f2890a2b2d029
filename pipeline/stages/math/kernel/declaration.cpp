// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/declaration.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace iqd::kernel {
namespace {

struct Token {
  std::string_view text;
  int line = 1;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Where the literal or comment that begins here ends; `at` itself if none begins here.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  const auto behind = [&](std::string_view mark) {
    const std::size_t found = text.find(mark, at + 2);
    return found == text.npos ? text.size() : found + mark.size();
  };
  if (rest.starts_with("//")) return std::min(text.find('\n', at), text.size());
  if (rest.starts_with("/*")) return behind("*/");
  if (rest.front() != '"' && rest.front() != '\'') return at;
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != rest.front() && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// The end of a preprocessor line, with its continuation lines.
std::size_t end_of_directive(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at, text.size());
}

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  bool line_begins = true;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text[at] == '#' && line_begins ? end_of_directive(text, at) : end_of_literal(text, at);
    if (end == at) {
      while (end < text.size() && is_word(text[end])) ++end;
      end = std::max(end, at + 1);
      if (!std::isspace(static_cast<unsigned char>(text[at]))) tokens.push_back({text.substr(at, end - at), line});
    }
    for (const char c : text.substr(at, end - at)) {
      line += c == '\n' ? 1 : 0;
      line_begins = c == '\n' || (line_begins && std::isspace(static_cast<unsigned char>(c)));
    }
    at = end;
  }
  return tokens;
}

using Tokens = std::vector<Token>::const_iterator;

/// One past the bracket that closes the one at `open`.
Tokens behind_bracket(Tokens open, Tokens end) {
  int depth = 0;
  for (; open != end; ++open) {
    depth += open->text == "(" || open->text == "{" || open->text == "[" ? 1 : 0;
    depth -= open->text == ")" || open->text == "}" || open->text == "]" ? 1 : 0;
    if (depth <= 0) return open + 1;
  }
  return end;
}

/// The words of a type, without those that do not change a value's type.
std::string type_of(Tokens begin, Tokens end) {
  static constexpr std::array<std::string_view, 20> kPassedOver{"const",
                                                                "volatile",
                                                                "&",
                                                                ":",
                                                                "std",
                                                                "__restrict__",
                                                                "__restrict",
                                                                "static",
                                                                "inline",
                                                                "constexpr",
                                                                "__device__",
                                                                "__host__",
                                                                "__forceinline__",
                                                                "__inline__",
                                                                "__noinline__",
                                                                "__global__",
                                                                "extern",
                                                                "maybe_unused",
                                                                "[",
                                                                "]"};
  std::string type;
  for (; begin != end; ++begin) {
    if (std::find(kPassedOver.begin(), kPassedOver.end(), begin->text) != kPassedOver.end()) continue;
    if (!type.empty() && begin->text != "*") type += ' ';
    type += begin->text;
  }
  return type;
}

Declaration::Argument argument_of(Tokens begin, Tokens end) {
  end = std::find_if(begin, end, [](const Token& t) { return t.text == "="; });
  // `float2 x[]` is a pointer.
  const auto bracket = std::find_if(begin, end, [](const Token& t) { return t.text == "["; });
  const bool is_array = bracket != begin && bracket != end;
  const Tokens name = (is_array ? bracket : end) - 1;
  if (name == begin || !is_word(name->text.front())) return {type_of(begin, end), ""};
  return {type_of(begin, name) + (is_array ? "*" : ""), std::string(name->text)};
}

std::vector<Declaration::Argument> arguments_of(Tokens begin, Tokens end) {
  std::vector<Declaration::Argument> arguments;
  if (begin == end || (end - begin == 1 && begin->text == "void")) return arguments;
  for (Tokens from = begin; from < end;) {
    Tokens to = from;
    while (to < end && to->text != ",") to = to->text == "(" || to->text == "{" ? behind_bracket(to, end) : to + 1;
    if (to > from) arguments.push_back(argument_of(from, to));
    from = to + 1;
  }
  return arguments;
}

/// Adds the declaration from `begin` to its `;` or `{`, if it is one of a function.
void add_function(Tokens begin, Tokens end, std::vector<Declaration>& found) {
  const Tokens open = std::find_if(begin, end, [](const Token& t) { return t.text == "("; });
  if (open == end || open - begin < 2) return;
  const Tokens name = open - 1;
  const bool is_value = std::any_of(begin, open, [](const Token& t) { return t.text == "="; });
  if (is_value || !is_word(name->text.front())) return;
  Declaration d;
  d.name = name->text;
  d.is_template = begin->text == "template";
  d.is_device = std::any_of(begin, name, [](const Token& t) { return t.text == "__device__"; });
  d.result = type_of(begin, name);
  d.arguments = arguments_of(open + 1, behind_bracket(open, end) - 1);
  d.line = name->line;
  found.push_back(std::move(d));
}

}  // namespace

std::vector<Declaration> find_functions(std::string_view text) {
  const std::vector<Token> tokens = tokens_of(text);
  std::vector<Declaration> found;
  for (Tokens begin = tokens.begin(); begin != tokens.end();) {
    Tokens end = begin;
    while (end != tokens.end() && end->text != ";" && end->text != "{")
      end = end->text == "(" ? behind_bracket(end, tokens.end()) : end + 1;
    add_function(begin, end, found);
    begin = end == tokens.end() ? end : end->text == "{" ? behind_bracket(end, tokens.end()) : end + 1;
  }
  return found;
}

std::optional<int> unclosed_brace(std::string_view text) {
  std::vector<int> open;
  for (const Token& t : tokens_of(text)) {
    if (t.text == "{") open.push_back(t.line);
    if (t.text == "}" && !open.empty()) open.pop_back();
  }
  return open.empty() ? std::nullopt : std::optional(open.front());
}

}  // namespace iqd::kernel
