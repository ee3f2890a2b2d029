// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/describe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "config/columns.hpp"
#include "config/quantity.hpp"
#include "config/values.hpp"

namespace iqd {
namespace {

using nlohmann::json;
using Complex = std::complex<double>;

/// A field's value as an operator would write it; empty for a group.
std::string text_of(const FieldRef& field, Unit unit) {
  if (std::holds_alternative<GroupRef>(field)) return "";
  return value_text(values_of([&](FieldVisitor& v) { v.visit("", field, {}); }).front().value, unit);
}

std::string range_text(const FieldRef& field, const FieldInfo& info) {
  if (const auto* e = std::get_if<EnumRef>(&field)) return fmt::format("{}", fmt::join(e->names, ", "));
  if (std::holds_alternative<bool*>(field)) return "true, false";
  const bool low = !std::isinf(info.low);
  const bool high = !std::isinf(info.high);
  if (low && high)
    return fmt::format("{} … {}", quantity_text(info.low, info.unit), quantity_text(info.high, info.unit));
  if (low) return "≥ " + quantity_text(info.low, info.unit);
  if (high) return "≤ " + quantity_text(info.high, info.unit);
  return "";
}

/// One row of a table.
struct Row {
  std::string key, value, range, help;
};

class RowsOf final : public FieldVisitor {
 public:
  std::vector<Row> rows;

  void visit(std::string_view key, FieldRef field, const FieldInfo& info) override {
    const auto* group = std::get_if<GroupRef>(&field);
    std::string value = info.required ? "(required)" : text_of(field, info.unit);
    std::string help(info.help);
    if (info.live) help += help.empty() ? "live" : " (live)";
    rows.push_back({prefix_ + std::string(key), std::move(value), range_text(field, info), std::move(help)});
    if (group == nullptr) return;
    const std::string outer = prefix_;
    prefix_ += std::string(key) + ".";
    group->fields(*this);
    prefix_ = outer;
  }

 private:
  std::string prefix_;
};

std::string in_markdown(const std::string& s) {
  std::string text;
  for (const char c : s) text += c == '|' ? "\\|" : std::string(1, c);
  return text;
}
std::string as_code(const std::string& s) {
  return s.empty() || s == "(required)" ? s : "`" + in_markdown(s) + "`";
}

json text_like(const char* pattern) {
  return {{"type", "string"}, {"pattern", pattern}};
}

/// Schemas of one value, alone or in a list, within its field's limits; called with a pointer that gives the type.
class ValueSchema {
 public:
  explicit ValueSchema(const FieldInfo& info) : info_(info) {}
  json operator()(const std::int64_t*) const { return number("integer"); }
  json operator()(const double*) const { return number("number"); }
  json operator()(const std::string*) const { return {{"type", json::array({"string", "number", "boolean"})}}; }
  json operator()(const Complex*) const {
    json pair = {{"type", "array"}, {"items", {{"type", "number"}}}, {"minItems", 2}, {"maxItems", 2}};
    return {{"anyOf", json::array({{{"type", "number"}}, text_like("^[-+0-9.eE ]*[ij]$"), std::move(pair)})}};
  }

 private:
  /// A number; if the field has a unit, also a text with a unit.
  json number(const char* type) const {
    if (info_.unit == Unit::none) return bounded(type);
    json with_unit = {{"type", "string"}, {"pattern", quantity_pattern(info_.unit)}};
    return {{"anyOf", json::array({bounded(type), std::move(with_unit)})}};
  }
  json bounded(const char* type) const {
    json j = {{"type", type}};
    if (!std::isinf(info_.low)) j["minimum"] = info_.low;
    if (!std::isinf(info_.high)) j["maximum"] = info_.high;
    return j;
  }

  const FieldInfo& info_;
};

template <class T> json with_default(json j, const T& x) {
  j["default"] = value_json(x);
  return j;
}

/// Schemas of a field, with its value as the default; a visitor of FieldRef.
class FieldSchema {
 public:
  explicit FieldSchema(const FieldInfo& info) : of_value_(info), lists_(info.lists) {}
  json operator()(const bool* x) const { return with_default({{"type", "boolean"}}, *x); }
  json operator()(const std::int64_t* x) const { return with_default(of_value_(x), *x); }
  json operator()(const double* x) const { return std::isfinite(*x) ? with_default(of_value_(x), *x) : of_value_(x); }
  json operator()(const std::string* x) const { return with_default(of_value_(x), *x); }
  json operator()(const Complex* x) const { return with_default(of_value_(x), *x); }
  json operator()(const std::optional<double>* x) const {
    json open = {{"enum", json::array({"none", "auto", "unlimited"})}};
    json j = {{"anyOf", json::array({of_value_(static_cast<const double*>(nullptr)), std::move(open)})}};
    j["default"] = *x ? value_json(**x) : json("none");
    return j;
  }
  template <class T> json operator()(const std::vector<T>* list) const {
    json alone = of_value_(static_cast<const T*>(nullptr));
    json choice = json::array({{{"type", "array"}, {"items", alone}}, alone});
    if (!std::is_same_v<T, std::string>) choice.push_back(text_like("^@."));
    return with_default({{"anyOf", std::move(choice)}}, *list);
  }
  json operator()(const StringMap* map) const {
    json plain = {{"type", json::array({"string", "number", "boolean", "null"})}};
    if (lists_) plain["type"].push_back("array");
    json object = {{"type", "object"}, {"additionalProperties", std::move(plain)}};
    return with_default({{"anyOf", json::array({std::move(object), text_like("=")})}}, *map);
  }
  json operator()(const EnumRef& e) const {
    const std::vector<std::string> names(e.names.begin(), e.names.end());
    // An editor that reads YAML 1.1 treats these two as booleans.
    json choice = names;
    for (const std::string& name : names)
      if (name == "on" || name == "off") choice.push_back(name == "on");
    return with_default({{"enum", std::move(choice)}}, names.at(static_cast<std::size_t>(e.value)));
  }
  json operator()(const GroupRef& group) const { return schema_of(group.fields); }

 private:
  ValueSchema of_value_;
  bool lists_;
};

/// Builds the schema of one map.
class SchemaOf final : public FieldVisitor {
 public:
  json schema = {{"type", "object"}, {"additionalProperties", false}, {"properties", json::object()}};

  void visit(std::string_view key, FieldRef field, const FieldInfo& info) override {
    json property = std::visit(FieldSchema(info), field);
    std::string text(info.help);
    if (info.unit != Unit::none) text += fmt::format("{}[{}]", text.empty() ? "" : " ", base_unit(info.unit));
    if (info.live) text += text.empty() ? "(live)" : " (live)";
    if (!text.empty()) property["description"] = text;
    if (info.required) {
      schema["required"].push_back(key);
      property.erase("default");
    }
    schema["properties"][std::string(key)] = std::move(property);
  }
};

}  // namespace

json schema_of(const FieldList& fields) {
  SchemaOf visitor;
  fields(visitor);
  return std::move(visitor.schema);
}

std::string markdown_table(const FieldList& fields) {
  RowsOf visitor;
  fields(visitor);
  if (visitor.rows.empty()) return "";
  std::string text = "| key | default | range | meaning |\n| --- | --- | --- | --- |\n";
  for (const Row& r : visitor.rows)
    text +=
        fmt::format("| `{}` | {} | {} | {} |\n", r.key, as_code(r.value), in_markdown(r.range), in_markdown(r.help));
  return text;
}

std::string text_table(const FieldList& fields) {
  RowsOf visitor;
  fields(visitor);
  visitor.rows.insert(visitor.rows.begin(), {"key", "default", "range", "meaning"});
  if (visitor.rows.size() == 1) return "";
  std::vector<std::vector<std::string>> rows;
  for (const Row& r : visitor.rows) rows.push_back({r.key, r.value, r.range, r.help});
  return in_columns(rows);
}

}  // namespace iqd
