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

/// A place in a file; line and column count from 1, 0 is unknown.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

enum class Severity { error, warning };

/// Where a relative path in a configuration leads: a file that is read is looked for beside the file that names it, and
/// then in the working directory.
struct FoundFile {
  std::string path;  // the one that exists; otherwise the one beside the file
  bool found = false;
  std::string looked{};  // if it was not found: where else, to be added to a message
};
/// `suffix`: the name may lack it.
FoundFile find_file(const Place& place, std::string_view name, std::string_view suffix = {});

/// A mistake for the operator to fix, or a warning: what works, but is likely meant differently.
struct Problem {
  Place place;
  std::string path;  // stages[2].fir.taps
  std::string what;
  Severity severity = Severity::error;
  /// `demo.yaml:9:5 stages[2].fir.tabs: unknown key (did you mean 'taps'?)`
  /// `demo.yaml:9:5: warning: stages[2].fir: nothing reads its output 'out'`
  std::string text() const;
};

/// All mistakes found, and apart from them all warnings: the list, its size and `empty` are of mistakes alone. Copies
/// share the lists, so that a section can add problems during its whole lifetime.
class Problems {
 public:
  using value_type = Problem;
  using iterator = std::vector<Problem>::iterator;
  using const_iterator = std::vector<Problem>::const_iterator;

  Problems() = default;
  Problems(const Problems&) = default;  // no move, which would leave an object without a list
  Problems& operator=(const Problems&) = default;
  bool empty() const noexcept { return errors().empty(); }
  std::size_t size() const noexcept { return errors().size(); }
  iterator begin() noexcept { return errors().begin(); }
  iterator end() noexcept { return errors().end(); }
  const_iterator begin() const noexcept { return errors().begin(); }
  const_iterator end() const noexcept { return errors().end(); }
  const Problem& front() const { return errors().front(); }
  Problem& back() { return errors().back(); }
  const Problem& operator[](std::size_t i) const { return errors()[i]; }
  const Problem& at(std::size_t i) const { return errors().at(i); }
  void push_back(Problem problem) { errors().push_back(std::move(problem)); }
  void pop_back() { errors().pop_back(); }
  void insert(const_iterator at, const_iterator first, const_iterator last) { errors().insert(at, first, last); }
  void resize(std::size_t size) { errors().resize(size); }
  void clear() noexcept { errors().clear(); }

  /// In the order of the file.
  const std::vector<Problem>& warnings() const noexcept { return lists_->warnings; }
  /// The same warning is kept once, and no more than are useful.
  void warn(Place place, std::string path, std::string what);

 private:
  struct Lists {
    std::vector<Problem> errors, warnings;
  };
  std::vector<Problem>& errors() const noexcept { return lists_->errors; }
  std::shared_ptr<Lists> lists_ = std::make_shared<Lists>();
};

/// Whether there are too many problems to be useful; the last one then says so. Loops over lists that may be long ask
/// this when they find a problem, and stop.
bool are_enough(Problems& problems);

/// A group of keys in the file: knows the place of each, and adds problems with them to a shared list.
class Section {
 public:
  Section(std::string path, Place place, const Problems& problems)
      : path_(std::move(path)), place_(std::move(place)), problems_(problems) {}
  void note(std::string key, Place place) { places_[std::move(key)] = std::move(place); }
  /// A problem of this key gets an addition if it is about this file.
  void note_missing(std::string key, std::string file, std::string looked) {
    missing_[std::move(key)] = {std::move(file), std::move(looked)};
  }
  /// An empty `key` means the whole section.
  void problem(std::string_view key, std::string what) const;
  void warning(std::string_view key, std::string what) const;
  /// The keys that problems name so far, `taps` for `taps[3]`; an empty one is the section itself.
  std::vector<std::string> wrong_keys() const;
  bool is_wrong(std::string_view key) const;
  /// The same keys with another list of problems.
  Section with(const Problems& problems) const;
  bool has(std::string_view key) const { return places_.find(key) != places_.end(); }
  const std::string& path() const { return path_; }
  const Place& place() const { return place_; }
  Problems& problems() const { return problems_; }

 private:
  Problem about(std::string_view key, std::string what) const;

  std::string path_;
  Place place_;
  mutable Problems problems_;  // adding a problem does not change the section
  std::map<std::string, Place, std::less<>> places_;
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> missing_;
};

/// The unit of a bare number, and the suffixes that it may have instead.
enum class Unit { none, hertz, rate, seconds, decibel, bytes };

struct FieldInfo {
  std::string_view help;
  Unit unit = Unit::none;
  double low = -std::numeric_limits<double>::infinity();  // for a list: limits of each element
  double high = std::numeric_limits<double>::infinity();
  bool required = false;
  bool live = false;  // may change while samples flow
  // A number of another size is probably meant in another unit than the base unit, unless its unit is written.
  double bare_low = 0;
  double bare_high = std::numeric_limits<double>::infinity();
  bool shapes = false;  // of a source: decides the type or the number of channels
  bool file = false;    // names a file that is read, or with @ before it: a relative path is looked for (find_file)
  std::string_view suffix = {};  // which such a name may lack
  bool lists = false;            // of a map of texts: values may be lists, which are kept as `flow_text`
};

/// An enumeration by its names. Needs `std::span<const std::string_view> enum_names(E)` next to the enum, in order.
struct EnumRef {
  std::span<const std::string_view> names;
  int value;
  void (*set)(void* target, int value);
  void* target;
};

/// A nested map. `given` becomes true if it is present.
struct GroupRef {
  bool* given;
  std::function<void(class FieldVisitor&)> fields;
};

/// Values kept as written, for options that are passed on (device arguments).
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

/// The candidate up to three edits away, or sharing a prefix; empty if none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);
/// ` (did you mean 'taps'?)`, or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace iqd
