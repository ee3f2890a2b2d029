// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/differences.hpp"

#include <algorithm>
#include <utility>

namespace iqd {
namespace {

using Value = std::variant<bool, std::int64_t, double, std::string, std::complex<double>, std::optional<double>,
                           std::vector<std::int64_t>, std::vector<double>, std::vector<std::complex<double>>,
                           std::vector<std::string>, StringMap>;

struct Held {
  std::string key;
  Value value;
  bool live = false;
};

/// Copies every value, with groups flattened.
class ValuesOf final : public FieldVisitor {
 public:
  std::vector<Held> values;

  void visit(std::string_view key, FieldRef field, const FieldInfo& info) override {
    const std::string name = prefix_ + std::string(key);
    std::visit([&](const auto& f) { hold(name, f, info); }, field);
  }

 private:
  template <class T> void hold(const std::string& name, T* value, const FieldInfo& info) {
    values.push_back({name, *value, info.live});
  }
  void hold(const std::string& name, const EnumRef& e, const FieldInfo& info) {
    values.push_back({name, std::int64_t{e.value}, info.live});
  }
  void hold(const std::string& name, const GroupRef& group, const FieldInfo& info) {
    values.push_back({name, *group.given, info.live});
    const std::string outer = std::exchange(prefix_, name + ".");
    group.fields(*this);
    prefix_ = outer;
  }

  std::string prefix_;
};

std::vector<Held> values_of(const FieldList& fields) {
  ValuesOf visitor;
  fields(visitor);
  return std::move(visitor.values);
}

}  // namespace

std::vector<Difference> differences(const FieldList& one, const FieldList& other) {
  const std::vector<Held> a = values_of(one);
  const std::vector<Held> b = values_of(other);
  std::vector<Difference> found;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i].value != b[i].value) found.push_back({a[i].key, a[i].live});
  return found;
}

bool all_live(const std::vector<Difference>& found) noexcept {
  return std::all_of(found.begin(), found.end(), [](const Difference& d) { return d.live; });
}

}  // namespace iqd
