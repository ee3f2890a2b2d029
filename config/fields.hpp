// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace iqd {

/// Where something stands in a file; line and column count from 1, 0 is unknown.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

/// One thing that the operator has to mend.
struct Problem {
  Place place;
  std::string path;  // stages[2].fir.taps
  std::string what;
  /// `demo.yaml:9:5 stages[2].fir.tabs: unknown key (did you mean 'taps'?)`
  std::string text() const;
};

/// What the operator has to mend. Copies share one list, so that a section can complain for as long as it lives.
class Problems {
 public:
  using value_type = Problem;
  using iterator = std::vector<Problem>::iterator;
  using const_iterator = std::vector<Problem>::const_iterator;

  Problems() = default;
  Problems(const Problems&) = default;  // and no move, which would leave one without a list
  Problems& operator=(const Problems&) = default;
  bool empty() const noexcept { return list_->empty(); }
  std::size_t size() const noexcept { return list_->size(); }
  iterator begin() noexcept { return list_->begin(); }
  iterator end() noexcept { return list_->end(); }
  const_iterator begin() const noexcept { return list_->begin(); }
  const_iterator end() const noexcept { return list_->end(); }
  const Problem& front() const { return list_->front(); }
  Problem& back() { return list_->back(); }
  const Problem& operator[](std::size_t i) const { return (*list_)[i]; }
  const Problem& at(std::size_t i) const { return list_->at(i); }
  void push_back(Problem problem) { list_->push_back(std::move(problem)); }
  void pop_back() { list_->pop_back(); }
  void insert(const_iterator at, const_iterator first, const_iterator last) { list_->insert(at, first, last); }
  void resize(std::size_t size) { list_->resize(size); }
  void clear() noexcept { list_->clear(); }

 private:
  std::shared_ptr<std::vector<Problem>> list_ = std::make_shared<std::vector<Problem>>();
};

/// Whether there are so many problems that more would help nobody; the last one says so. Who goes through a list that
/// may be long and finds something wrong asks, and goes no further.
bool are_enough(Problems& problems);

/// A group of keys as it stands in the file: takes complaints about its keys, into problems that it shares, and knows
/// where each is.
class Section {
 public:
  Section(std::string path, Place place, Problems problems)
      : path_(std::move(path)), place_(std::move(place)), problems_(std::move(problems)) {}
  void note(std::string key, Place place) { places_[std::move(key)] = std::move(place); }
  /// `key` may be empty: then the whole section is meant.
  void problem(std::string_view key, std::string what) const;
  bool has(std::string_view key) const { return places_.find(key) != places_.end(); }
  const std::string& path() const { return path_; }
  const Place& place() const { return place_; }
  Problems& problems() const { return problems_; }

 private:
  std::string path_;
  Place place_;
  mutable Problems problems_;  // to complain about a section does not change it
  std::map<std::string, Place, std::less<>> places_;
};

/// What a bare number means, and which suffixes it may have instead.
enum class Unit { none, hertz, rate, seconds, decibel, bytes };

struct FieldInfo {
  std::string_view help;
  Unit unit = Unit::none;
  double low = -std::numeric_limits<double>::infinity();  // for a list: of each element
  double high = std::numeric_limits<double>::infinity();
  bool required = false;
  bool live = false;  // may change while samples flow
};

/// An enumeration by its names. Needs `std::span<const std::string_view> enum_names(E)` beside the enum, in order.
struct EnumRef {
  std::span<const std::string_view> names;
  int value;
  void (*set)(void* target, int value);
  void* target;
};

/// A nested map. `given` becomes true where it is present.
struct GroupRef {
  bool* given;
  std::function<void(class FieldVisitor&)> fields;
};

/// Any JSON-like value kept as written, for options that are handed on to others (device arguments).
using StringMap = std::map<std::string, std::string>;

using FieldRef =
    std::variant<bool*, std::int64_t*, double*, std::string*, std::complex<double>*, std::optional<double>*,
                 std::vector<std::int64_t>*, std::vector<double>*, std::vector<std::complex<double>>*,
                 std::vector<std::string>*, StringMap*, EnumRef, GroupRef>;

/// A configuration struct lists its fields once, in `fields(FieldVisitor&)`; reading, ranges, the schema and the
/// tables of the documentation are visitors over that list.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void visit(std::string_view key, FieldRef field, const FieldInfo& info) = 0;

  template <class T> void field(std::string_view key, T& value, const FieldInfo& info) {
    if constexpr (std::is_enum_v<T>) {
      const auto set = [](void* target, int v) { *static_cast<T*>(target) = static_cast<T>(v); };
      visit(key, EnumRef{enum_names(value), static_cast<int>(value), set, &value}, info);
    } else {
      visit(key, FieldRef(&value), info);
    }
  }
  template <std::invocable<FieldVisitor&> F>
  void group(std::string_view key, bool& given, const FieldInfo& info, F fields) {
    visit(key, GroupRef{&given, std::move(fields)}, info);
  }
};

/// Up to three edits away, or sharing a prefix; empty where nothing is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);
/// ` (did you mean 'taps'?)`, or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace iqd
