// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/values.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "config/quantity.hpp"

namespace iqd {
namespace {

using nlohmann::json;
using ComplexValue = std::complex<double>;

/// Copies every value, with groups flattened.
class CopyOf final : public FieldVisitor {
 public:
  std::vector<KeyCopy> copies;

  void visit(std::string_view key, FieldRef field, const FieldInfo& info) override {
    const std::string name = prefix_ + std::string(key);
    std::visit([&](const auto& f) { copy(name, f, info); }, field);
  }

 private:
  template <class T> void copy(const std::string& name, T* value, const FieldInfo& info) {
    copies.push_back({name, *value, info});
  }
  void copy(const std::string& name, const EnumRef& e, const FieldInfo& info) {
    copies.push_back({name, std::string(e.names[static_cast<std::size_t>(e.value)]), info, e.names});
  }
  void copy(const std::string& name, const GroupRef& group, const FieldInfo& info) {
    copies.push_back({name, group.given != nullptr && *group.given, info, {}, true});
    const std::string outer = std::exchange(prefix_, name + ".");
    group.fields(*this);
    prefix_ = outer;
  }

  std::string prefix_;
};

struct JsonOf {
  json operator()(double x) const { return number_json(x); }
  json operator()(const ComplexValue& x) const {
    return x.imag() == 0 ? number_json(x.real()) : json::array({number_json(x.real()), number_json(x.imag())});
  }
  json operator()(const std::optional<double>& x) const { return x ? number_json(*x) : json(); }
  template <class T> json operator()(const std::vector<T>& list) const {
    json all = json::array();
    for (const T& x : list) all.push_back((*this)(x));
    return all;
  }
  template <class T> json operator()(const T& x) const { return x; }
};

class TextOf {
 public:
  explicit TextOf(Unit unit) : unit_(unit) {}
  std::string operator()(bool x) const { return x ? "true" : "false"; }
  std::string operator()(std::int64_t x) const {
    return unit_ == Unit::none ? fmt::format("{}", x) : quantity_text(static_cast<double>(x), unit_);
  }
  std::string operator()(double x) const { return quantity_text(x, unit_); }
  std::string operator()(const std::string& x) const { return x; }
  std::string operator()(const ComplexValue& x) const {
    if (x.imag() == 0) return quantity_text(x.real(), Unit::none);
    return fmt::format("[{}, {}]", quantity_text(x.real(), Unit::none), quantity_text(x.imag(), Unit::none));
  }
  std::string operator()(const std::optional<double>& x) const { return x ? quantity_text(*x, unit_) : "none"; }
  template <class T> std::string operator()(const std::vector<T>& list) const {
    constexpr std::size_t kEnough = 8;
    std::string text;
    for (std::size_t i = 0; i < list.size() && i < kEnough; ++i) text += (i > 0 ? ", " : "") + (*this)(list[i]);
    return "[" + text + (list.size() > kEnough ? ", …]" : "]");
  }
  std::string operator()(const StringMap& map) const {
    std::string text;
    for (const auto& [key, value] : map) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value);
    return "{" + text + "}";
  }

 private:
  Unit unit_;
};

}  // namespace

std::vector<KeyCopy> values_of(const FieldList& fields) {
  CopyOf visitor;
  fields(visitor);
  return std::move(visitor.copies);
}

json number_json(double value) {
  constexpr double kExact = 1LL << 53;
  const bool whole = std::nearbyint(value) == value && std::fabs(value) < kExact;
  return whole ? json(static_cast<std::int64_t>(value)) : json(value);
}

json value_json(const KeyValue& value) {
  return std::visit(JsonOf(), value);
}

std::string value_text(const KeyValue& value, Unit unit) {
  return std::visit(TextOf(unit), value);
}

}  // namespace iqd
