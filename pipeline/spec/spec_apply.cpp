// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_apply.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "config/reader.hpp"

namespace iqd {
namespace {

using Takes = ApplySpec::Takes;

/// A key is set as text, in one piece, between two blocks.
constexpr std::int64_t kMostNumbers = 4096;

struct Numbers {
  Takes takes = Takes::nothing;
  bool list = false;
};
template <class Other> Numbers numbers_of(const Other&) {
  return {};
}
Numbers numbers_of(std::int64_t*) {
  return {Takes::whole, false};
}
Numbers numbers_of(double*) {
  return {Takes::real, false};
}
Numbers numbers_of(std::optional<double>*) {
  return {Takes::real, false};
}
Numbers numbers_of(std::complex<double>*) {
  return {Takes::complex, false};
}
Numbers numbers_of(std::vector<std::int64_t>*) {
  return {Takes::whole, true};
}
Numbers numbers_of(std::vector<double>*) {
  return {Takes::real, true};
}
Numbers numbers_of(std::vector<std::complex<double>>*) {
  return {Takes::complex, true};
}

/// Every key of a stage, those of groups as `group.key`.
class Keys final : public FieldVisitor {
 public:
  struct Key {
    std::string name;
    Numbers numbers;
    bool live;
  };
  std::vector<Key> all;

  void visit(std::string_view key, FieldRef field, const FieldInfo& info) override {
    const std::string name = prefix_ + std::string(key);
    if (const auto* group = std::get_if<GroupRef>(&field)) {
      const std::string outer = std::exchange(prefix_, name + ".");
      group->fields(*this);
      prefix_ = outer;
      return;
    }
    all.push_back({name, std::visit([](const auto& target) { return numbers_of(target); }, field), info.live});
  }
  std::vector<std::string_view> names(bool that_fit) const {
    std::vector<std::string_view> chosen;
    for (const Key& k : all)
      if (!that_fit || (k.live && k.numbers.takes != Takes::nothing)) chosen.push_back(k.name);
    return chosen;
  }

 private:
  std::string prefix_;
};

/// What may be written instead.
std::string choice(const std::vector<std::string_view>& names) {
  return names.empty() ? "there are none" : fmt::format("there are: {}", fmt::join(names, ", "));
}

std::optional<LiveKey> parse_live_key(std::string_view to, const std::string& own_pipeline) {
  const std::size_t slash = to.rfind('/');
  const std::string pipeline = slash == to.npos ? own_pipeline : std::string(to.substr(0, slash));
  if (slash != to.npos) to.remove_prefix(slash + 1);
  const std::size_t dot = to.find('.');
  if (pipeline.empty() || dot == 0 || dot == to.npos || dot + 1 == to.size()) return std::nullopt;
  return LiveKey{pipeline, std::string(to.substr(0, dot)), std::string(to.substr(dot + 1))};
}

/// Null if there is none, which is a problem unless it could not be read.
const PipelineSpec* find_pipeline(const Spec& spec, const ApplySpec& apply) {
  std::vector<std::string_view> names;
  for (const PipelineSpec& p : spec.pipelines) {
    if (p.name == apply.key.pipeline) return &p;
    names.push_back(p.name);
  }
  if (!spec.is_whole) return nullptr;
  apply.section.problem("to", fmt::format("there is no pipeline '{}'{}; {}", apply.key.pipeline,
                                          did_you_mean(apply.key.pipeline, names), choice(names)));
  return nullptr;
}

/// The keys of the named stage or of the source; none if there is no such stage, or if it could not be read.
std::optional<Keys> find_keys(const PipelineSpec& pipeline, const ApplySpec& apply) {
  Keys keys;
  std::vector<std::string_view> names{"source"};
  if (apply.key.stage == names.front()) {
    if (!pipeline.source) return std::nullopt;
    pipeline.source->fields(keys);
    return keys;
  }
  for (const StageSpec& s : pipeline.stages) {
    if (s.name != apply.key.stage && std::ranges::find(s.other_names, apply.key.stage) == s.other_names.end()) {
      if (!s.name.empty()) names.push_back(s.name);
      continue;
    }
    if (!s.as_read) return std::nullopt;
    s.as_read->fields(keys);
    return keys;
  }
  apply.section.problem("to", fmt::format("{} has no stage '{}'{}; {}", pipeline.name, apply.key.stage,
                                          did_you_mean(apply.key.stage, names), choice(names)));
  return std::nullopt;
}

/// Records which kind of numbers the key takes.
void find_key(const Keys& keys, ApplySpec& apply) {
  const auto key = std::ranges::find(keys.all, apply.key.key, &Keys::Key::name);
  const std::string live =
      fmt::format("live keys of {} that take numbers: {}", apply.key.stage,
                  keys.names(true).empty() ? "none" : fmt::format("{}", fmt::join(keys.names(true), ", ")));
  if (key == keys.all.end())
    return apply.section.problem("to", fmt::format("{} has no key '{}'{}; {}", apply.key.stage, apply.key.key,
                                                   did_you_mean(apply.key.key, keys.names(false)), live));
  if (!key->live)
    return apply.section.problem("to", fmt::format("{} cannot change while it runs; {}", apply.key.key, live));
  if (key->numbers.takes == Takes::nothing)
    return apply.section.problem("to", fmt::format("{} takes no numbers; {}", apply.key.key, live));
  apply.takes = key->numbers.takes;
  apply.takes_list = key->numbers.list;
}

}  // namespace

void apply_fields(ApplySpec& spec, FieldVisitor& v) {
  v.field("port", spec.port, {.help = "stage.output, with at most one value per block", .required = true});
  v.field("to", spec.to,
          {.help = "the live key that gets each new value: stage.key, or pipeline/stage.key", .required = true});
}

void read_apply(const Node& item, PipelineSpec& spec, Problems& problems) {
  ApplySpec apply{{}, {}, Section("", {}, problems)};
  apply.section = read_fields(
      item, [&](FieldVisitor& v) { apply_fields(apply, v); }, problems);
  if (item.kind() == Node::Kind::map) spec.apply.push_back(std::move(apply));
}

void find_live_keys(Spec& spec) {
  std::set<std::string> taken;
  for (PipelineSpec& pipeline : spec.pipelines)
    for (ApplySpec& apply : pipeline.apply) {
      if (apply.to.empty() && !apply.section.has("to")) continue;
      const std::optional<LiveKey> key = parse_live_key(apply.to, pipeline.name);
      if (!key) {
        apply.section.problem("to", fmt::format("'{}' is not stage.key or pipeline/stage.key", apply.to));
        continue;
      }
      apply.key = *key;
      if (!taken.insert(key->text()).second)
        apply.section.problem("to", fmt::format("another entry already sets {}; keep one of them", key->text()));
      const PipelineSpec* at = find_pipeline(spec, apply);
      if (!at) continue;
      if (const auto keys = find_keys(*at, apply)) find_key(*keys, apply);
    }
}

void check_apply(const ApplySpec& apply, const PortShape& port) {
  const auto problem = [&](std::string_view what) {
    apply.section.problem("port", fmt::format("{} is {}; {}", apply.port, port.text(), what));
  };
  const std::int64_t numbers = port.item_size() * port.row_count();
  const bool whole = port.element == Element::i64 || port.element == Element::i32;
  if (port.axis != Axis::block)
    return problem("`apply` takes one value per block: use a port without [n] or counted items");
  if (!whole && port.element != Element::f32 && port.element != Element::cf32)
    return problem("`apply` takes cf32, f32, i64 or i32");
  if (numbers > kMostNumbers) return problem(fmt::format("`apply` takes at most {} numbers", kMostNumbers));
  if (apply.takes == Takes::nothing) return;
  if (numbers > 1 && !apply.takes_list) problem(fmt::format("{} takes one number", apply.to));
  if (port.element == Element::cf32 && apply.takes != Takes::complex)
    problem(fmt::format("{} takes no complex numbers", apply.to));
  if (!whole && port.element != Element::cf32 && apply.takes == Takes::whole)
    problem(fmt::format("{} takes whole numbers", apply.to));
}

}  // namespace iqd
