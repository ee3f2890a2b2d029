// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "config/array_file.hpp"
#include "config/flow_text.hpp"
#include "config/range.hpp"

namespace iqd {
namespace {

using Kind = Node::Kind;
using Complex = std::complex<double>;

std::string expected(std::string_view what, const Node& node) {
  return fmt::format("expected {}, found {}", what, node.found());
}

/// Converts one value to its C++ type: `take` returns false and sets `why` if it cannot. `doubt` says what is wrong with
/// a value that it took.
class Taker {
 public:
  explicit Taker(const FieldInfo& info) : info_(info) {}
  std::string why;
  std::string doubt;

  bool take(const Node& node, bool& into) {
    constexpr std::array<std::string_view, 3> kYes{"true", "yes", "on"};
    constexpr std::array<std::string_view, 3> kNo{"false", "no", "off"};
    std::string word = node.scalar();
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool yes = std::find(kYes.begin(), kYes.end(), word) != kYes.end();
    const bool no = std::find(kNo.begin(), kNo.end(), word) != kNo.end();
    if (!yes && !no) return fail(expected("true or false", node));
    into = yes;
    return true;
  }
  bool take(const Node& node, std::int64_t& into) {
    if (node.kind() != Kind::scalar) return fail(expected("a whole number", node));
    const auto value = parse_whole(node.scalar(), info_.unit, why);
    if (!value || !in_range(static_cast<double>(*value))) return false;
    into = *value;
    doubt = unit_doubt(node.scalar(), static_cast<double>(into), info_);
    return true;
  }
  bool take(const Node& node, double& into) {
    if (node.kind() != Kind::scalar) return fail(expected("a number", node));
    const auto value = parse_quantity(node.scalar(), info_.unit, why);
    if (!value || !in_range(*value)) return false;
    into = *value;
    doubt = unit_doubt(node.scalar(), into, info_);
    return true;
  }
  bool take(const Node& node, std::optional<double>& into) {
    const std::string& word = node.scalar();
    const bool left_open = word == "none" || word == "auto" || word == "unlimited";
    double value = 0;
    if (!left_open && !take(node, value)) return false;
    into = left_open ? std::nullopt : std::optional<double>(value);
    return true;
  }
  bool take(const Node& node, std::string& into) {
    if (node.kind() != Kind::scalar) return fail(expected("a string", node));
    into = node.scalar();
    return true;
  }
  bool take(const Node& node, Complex& into) {
    constexpr std::string_view kComplex = "a complex number ([re, im], 0.3-0.1j or 2)";
    const auto parts = node.items();
    double re = 0;
    double im = 0;
    if (parts.size() == 2) {
      if (!take(parts[0], re) || !take(parts[1], im)) return false;
      into = {re, im};
      return true;
    }
    const auto value = parse_complex(node.scalar());
    if (!value) return fail(expected(kComplex, node));
    into = *value;
    return true;
  }
  bool take(const Node& node, const EnumRef& into) {
    const std::string& word = node.scalar();
    const auto found = std::find(into.names.begin(), into.names.end(), word);
    if (found == into.names.end())
      return fail(fmt::format("{} is not one of {}{}", node.found(), fmt::join(into.names, ", "),
                              did_you_mean(word, into.names)));
    into.set(into.target, static_cast<int>(found - into.names.begin()));
    return true;
  }
  bool in_range(double value) {
    if (value >= info_.low && value <= info_.high) return true;
    return fail(range_fault(value, info_));
  }
  bool fail(std::string what) {
    why = std::move(what);
    return false;
  }

 private:
  const FieldInfo& info_;
};

/// The expected list, for messages.
std::string_view list_of(const std::vector<std::int64_t>*) {
  return "a list of whole numbers";
}
std::string_view list_of(const std::vector<double>*) {
  return "a list of numbers";
}
std::string_view list_of(const std::vector<Complex>*) {
  return "a list of real or complex numbers";
}
std::string_view list_of(const std::vector<std::string>*) {
  return "a list of strings";
}

/// Reads one map.
class Reader final : public FieldVisitor {
 public:
  Reader(const Node& node, std::string prefix, Section& section)
      : node_(node), prefix_(std::move(prefix)), section_(section) {
    const auto entries = node.entries();
    const auto places = node.key_places();
    for (std::size_t i = 0; i < entries.size(); ++i) section.note(prefix_ + entries[i].first, places[i]);
  }

  void visit(std::string_view key, FieldRef field, const FieldInfo& info) override {
    keys_.push_back(key);
    const Node value = node_[key];
    if (value.kind() == Kind::missing) {
      if (info.required) complain(value.place(), value.path(), "is required");
      return;
    }
    key_ = node_.key_place(key);
    if (value.kind() == Kind::null) return complain(key_, value.path(), "has no value");
    std::visit([&](auto target) { read(value, target, info); }, field);
  }

  void refuse_others(std::span<const std::string_view> reserved) {
    keys_.insert(keys_.end(), reserved.begin(), reserved.end());
    const auto entries = node_.entries();
    const auto places = node_.key_places();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& [key, value] = entries[i];
      if (std::find(keys_.begin(), keys_.end(), key) != keys_.end()) continue;
      if (are_enough(section_.problems())) return;
      complain(places[i], value.path(), "unknown key" + did_you_mean(key, keys_));
    }
  }

 private:
  template <class T> void read(const Node& value, T* target, const FieldInfo& info) {
    Taker taker(info);
    if (!taker.take(value, *target)) return complain(key_, value.path(), taker.why);
    wonder(key_, value.path(), taker);
    if constexpr (std::is_same_v<T, std::string>)
      if (info.file && !target->empty()) find(value, *target, info);
  }
  /// Replaces a name by the path of the file. A name that leads to none stays: it may be a word.
  void find(const Node& value, std::string& name, const FieldInfo& info) {
    const std::string mark = name.starts_with('@') ? "@" : "";
    const std::string file = name.substr(mark.size());
    FoundFile found = find_file(value.place(), file, info.suffix);
    if (found.found) name = mark + found.path;
    if (!found.found) section_.note_missing(prefix_ + std::string(keys_.back()), file, std::move(found.looked));
  }
  void read(const Node& value, const EnumRef& target, const FieldInfo& info) {
    Taker taker(info);
    if (!taker.take(value, target)) complain(key_, value.path(), taker.why);
  }
  void read(const Node& value, const GroupRef& group, const FieldInfo&) {
    if (value.kind() != Kind::map) return complain(key_, value.path(), expected("a map of keys", value));
    const std::string_view key = keys_.back();
    Reader inner(value, prefix_ + std::string(key) + ".", section_);
    group.fields(inner);
    inner.refuse_others({});
    if (group.given != nullptr) *group.given = true;
  }
  void read(const Node& value, StringMap* target, const FieldInfo& info) {
    if (value.kind() == Kind::scalar) return read_pairs(value, *target);
    if (value.kind() != Kind::map) return complain(key_, value.path(), expected("a map of strings", value));
    StringMap map;
    const std::string inner = prefix_ + std::string(keys_.back()) + ".";
    const auto entries = value.entries();
    const auto places = value.key_places();
    for (std::size_t i = 0; i < entries.size() && !are_enough(section_.problems()); ++i) {
      const auto& [key, item] = entries[i];
      section_.note(inner + key, places[i]);
      Taker taker(info);
      Complex number;
      const bool is_list = info.lists && item.kind() == Kind::sequence;
      const bool is_pair = !is_list && item.items().size() == 2 && taker.take(item, number);  // [re, im]
      const bool simple = item.kind() == Kind::scalar || item.kind() == Kind::null || is_pair || is_list;
      if (!simple) complain(places[i], item.path(), expected("a string", item));
      map[key] = is_pair ? fmt::format("[{}, {}]", number.real(), number.imag()) : flow_text(item);
    }
    *target = std::move(map);
  }
  /// `driver=iqdsim,rate=1e6`, as in SoapySDR and UHD.
  void read_pairs(const Node& value, StringMap& target) {
    StringMap map;
    std::string_view rest = value.scalar();
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      const std::string_view pair = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::size_t equals = pair.find('=');
      const auto trimmed = [](std::string_view s) {
        const std::size_t first = std::min(s.find_first_not_of(' '), s.size());
        return std::string(s.substr(first, s.find_last_not_of(' ') + 1 - first));
      };
      if (trimmed(pair).empty()) continue;
      if (equals == std::string_view::npos || trimmed(pair.substr(0, equals)).empty())
        return complain(key_, value.path(), expected("a map, or key=value,key=value", value));
      map[trimmed(pair.substr(0, equals))] = trimmed(pair.substr(equals + 1));
    }
    target = std::move(map);
  }

  template <class T> void read(const Node& value, std::vector<T>* target, const FieldInfo& info) {
    if (value.kind() == Kind::map) return complain(key_, value.path(), expected(list_of(target), value));
    Taker taker(info);
    std::vector<T> list;
    if (value.kind() == Kind::scalar) {
      if constexpr (!std::is_same_v<T, std::string>)
        if (value.scalar().starts_with('@')) return read_file(value, *target, info);
      if (!taker.take(value, list.emplace_back())) return complain(key_, value.path(), taker.why);
      wonder(key_, value.path(), taker);
    }
    bool good = true;
    for (const Node& item : value.items()) {
      if (taker.take(item, list.emplace_back())) {
        wonder(item.place(), item.path(), taker);
        continue;
      }
      good = false;
      if (are_enough(section_.problems())) break;
      complain(item.place(), item.path(), taker.why);
    }
    if (good) *target = std::move(list);
  }

  template <class T> void read_file(const Node& value, std::vector<T>& target, const FieldInfo& info) {
    const FoundFile file = find_file(value.place(), value.scalar().substr(1));
    Taker taker(info);
    std::vector<T> list;
    if (!read_array(file.path, list, taker.why)) return complain(key_, value.path(), taker.why + file.looked);
    if constexpr (!std::is_same_v<T, Complex>) {
      for (std::size_t i = 0; i < list.size(); ++i)
        if (!taker.in_range(static_cast<double>(list[i])))
          return complain(key_, value.path(), fmt::format("element {} {}", i, taker.why));
    }
    target = std::move(list);
  }

  void complain(Place place, std::string path, std::string what) {
    section_.problems().push_back({std::move(place), std::move(path), std::move(what)});
  }
  void wonder(const Place& place, const std::string& path, const Taker& taker) {
    if (!taker.doubt.empty()) section_.problems().warn(place, path, taker.doubt);
  }

  const Node node_;
  std::string prefix_;
  Section& section_;
  std::vector<std::string_view> keys_;
  Place key_;
};

}  // namespace

void sort_by_place(Problems& problems, std::size_t from) {
  std::stable_sort(problems.begin() + static_cast<std::ptrdiff_t>(from), problems.end(),
                   [](const Problem& a, const Problem& b) {
                     return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
                   });
}

Section read_fields(const Node& node, const std::function<void(FieldVisitor&)>& fields, Problems& problems,
                    std::span<const std::string_view> reserved) {
  const std::size_t before = problems.size();
  Section section(node.path(), node.place(), problems);
  if (node.kind() == Kind::null) {
    section.problem("", "has no value (write {} for the defaults)");
  } else if (node.kind() == Kind::scalar || node.kind() == Kind::sequence) {
    section.problem("", expected("a map of keys", node));
  } else {
    Reader reader(node, "", section);
    fields(reader);
    reader.refuse_others(reserved);
  }
  sort_by_place(problems, before);
  return section;
}

}  // namespace iqd
