// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "config/fields.hpp"

namespace iqd::radio {

/// Sets the fields of options from plain texts: numbers without units, lists as `1,2`, maps as `a=1,b=2`.
class Assign final : public FieldVisitor {
 public:
  explicit Assign(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  ~Assign() override {
    for (const auto& [key, value] : values_) ADD_FAILURE() << "no field " << key;
  }
  void visit(std::string_view key, FieldRef field, const FieldInfo&) override {
    const auto found = values_.find(std::string(key));
    if (found == values_.end()) return;
    std::visit([&](auto& target) { set(target, found->second); }, field);
    values_.erase(found);
  }

 private:
  static void set(bool* x, const std::string& text) { *x = text == "true"; }
  static void set(std::int64_t* x, const std::string& text) { *x = std::atoll(text.c_str()); }
  static void set(double* x, const std::string& text) { *x = std::atof(text.c_str()); }
  static void set(std::string* x, const std::string& text) { *x = text; }
  static void set(std::optional<double>* x, const std::string& text) { *x = std::atof(text.c_str()); }
  static void set(std::vector<std::int64_t>* x, const std::string& text) {
    x->clear();
    std::stringstream stream(text);
    for (std::string item; std::getline(stream, item, ',');) x->push_back(std::atoll(item.c_str()));
  }
  static void set(std::vector<double>* x, const std::string& text) {
    x->clear();
    std::stringstream stream(text);
    for (std::string item; std::getline(stream, item, ',');) x->push_back(std::atof(item.c_str()));
  }
  static void set(std::vector<std::string>* x, const std::string& text) {
    x->clear();
    std::stringstream stream(text);
    for (std::string item; std::getline(stream, item, ',');) x->push_back(item);
  }
  static void set(StringMap* x, const std::string& text) {
    std::stringstream stream(text);
    for (std::string item; std::getline(stream, item, ',');)
      (*x)[item.substr(0, item.find('='))] = item.substr(item.find('=') + 1);
  }
  static void set(EnumRef& x, const std::string& text) {
    const auto name = std::find(x.names.begin(), x.names.end(), text);
    ASSERT_NE(name, x.names.end()) << text;
    x.set(x.target, static_cast<int>(name - x.names.begin()));
  }
  template <class T> static void set(T&, const std::string& text) { FAIL() << "cannot set a field to " << text; }

  std::map<std::string, std::string> values_;
};

template <class Options> void assign(Options& options, std::map<std::string, std::string> values) {
  Assign visitor(std::move(values));
  options.fields(visitor);
}

/// The problems that `check` or `describe` reports, each as `key: what`.
template <class F> std::vector<std::string> complaints(F f) {
  Problems problems;
  const Section section("x", {}, problems);
  f(section);
  std::vector<std::string> texts;
  for (const Problem& p : problems) texts.push_back(p.path + ": " + p.what);
  return texts;
}

}  // namespace iqd::radio
