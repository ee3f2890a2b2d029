// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/npy_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace iqd::npy {
namespace {

constexpr std::size_t kMostDims = 32;

constexpr std::array<Kind, 11> kKinds{{{"c8", 8, 4},
                                       {"c16", 16, 8},
                                       {"f8", 8, 8},
                                       {"f4", 4, 4},
                                       {"f2", 2, 2},
                                       {"i8", 8, 8},
                                       {"i4", 4, 4},
                                       {"i2", 2, 2},
                                       {"i1", 1, 1},
                                       {"u1", 1, 1},
                                       {"b1", 1, 1}}};

/// Every method returns whether it found what it looked for.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  /// Empty on success, otherwise what is wrong.
  std::string parse(Header& header) {
    if (!take('{')) return "its header is not a dictionary";
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':')) return "its header cannot be read";
      if (const auto wrong = value(key, header); !wrong.empty()) return wrong;
      if (take(',')) continue;
      if (!take('}')) return fmt::format("its header cannot be read after '{}'", key);
      break;
    }
    skip_space();
    if (!rest_.empty()) return "its header continues after its end";
    if (!header.descr || !header.fortran || !header.shape) return "its header lacks descr, fortran_order or shape";
    return {};
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || (rest_.front() >= '\t' && rest_.front() <= '\r')))
      rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    skip_space();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool string(std::string& into) {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return false;
    const auto end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return false;
    into = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool integer(std::int64_t& into) {
    skip_space();
    const char* const begin = rest_.data();
    const char* at = begin;
    const char* const end = begin + rest_.size();
    into = 0;
    for (; at != end && *at >= '0' && *at <= '9'; ++at)
      if (__builtin_mul_overflow(into, std::int64_t{10}, &into) || __builtin_add_overflow(into, *at - '0', &into))
        return false;
    if (at == begin) return false;
    if (at != end && *at == 'L') ++at;  // written by Python 2
    rest_.remove_prefix(static_cast<std::size_t>(at - begin));
    return true;
  }
  bool tuple(std::vector<std::int64_t>& into) {
    if (!take('(')) return false;
    while (!take(')')) {
      std::int64_t n = 0;
      if (into.size() == kMostDims || !integer(n)) return false;
      into.push_back(n);
      if (!take(',')) return take(')');
    }
    return true;
  }
  /// `[('re', '<i2'), ('im', '<i2')]`
  bool records(std::vector<std::pair<std::string, std::string>>& into) {
    if (!take('[')) return false;
    while (!take(']')) {
      auto& [name, type] = into.emplace_back();
      if (into.size() > kMostDims || !take('(') || !string(name) || !take(',') || !string(type)) return false;
      take(',');
      if (!take(')')) return false;
      if (!take(',')) return take(']');
    }
    return true;
  }
  std::string value(const std::string& key, Header& header) {
    if (key == "descr") {
      if (!string(header.descr.emplace()) && !records(header.fields))
        return fmt::format("it contains records; iqd reads plain arrays of {}", supported());
    } else if (key == "fortran_order") {
      header.fortran = take("True");
      if (!*header.fortran && !take("False")) return "fortran_order is neither True nor False";
    } else if (key == "shape") {
      if (!tuple(header.shape.emplace())) return fmt::format("its shape is not a tuple of at most {} sizes", kMostDims);
    } else {
      return "its header has a key that NumPy does not write";
    }
    return {};
  }

  std::string_view rest_;
};

}  // namespace

const Kind* find_kind(std::string_view dtype) noexcept {
  if (dtype.size() < 3 || std::string_view("<>|=").find(dtype.front()) == std::string_view::npos) return nullptr;
  const auto* found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.name == dtype.substr(1); });
  if (found == kKinds.end() || (dtype.front() == '|' && found->bytes > 1)) return nullptr;
  return found;
}

std::string normal_name(const Kind& kind) {
  return fmt::format("{}{}", kind.name == "b1" ? '|' : '<', kind.name);
}

std::string supported() {
  std::vector<std::string> names;
  for (const Kind& k : kKinds) names.push_back(normal_name(k));
  return fmt::format("{}", fmt::join(names, " "));
}

std::string parse(std::string_view text, Header& header) {
  return HeaderParser(text).parse(header);
}

}  // namespace iqd::npy
