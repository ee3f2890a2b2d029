// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <set>

#include "base/pool.hpp"
#include "config/reader.hpp"
#include "config/test_options.hpp"
#include "config/text_check.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/http/http_access.hpp"
#include "pipeline/spec/spec_change.hpp"
#include "pipeline/spec_plan.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

/// Visits all of a tree.
std::size_t walk(const Node& node) {
  std::size_t n = 1 + node.scalar().size() + node.found().size() + node.path().size();
  for (const auto& [key, value] : node.entries()) n += key.size() + walk(value) + walk(node[key]);
  for (const Node& item : node.items()) n += walk(item);
  return n;
}

void check_problems(const Problems& problems) {
  for (const Problem& p : problems) {
    const std::string line = p.text();
    expect(line.starts_with("a.yaml:"), "a problem has a place: " + line);
    expect(line.find('\n') == line.npos, "a problem is one line: " + line);
    Problems about_the_line;
    check_text(line, "", about_the_line);
    expect(about_the_line.empty(), "a problem can be shown: " + line);
  }
}

void read_fields_of_every_kind(const Node& root) {
  TestOptions options;
  Problems problems;
  read_fields(
      root, [&](FieldVisitor& v) { options.fields(v); }, problems);
  check_problems(problems);
}

/// Collects the visited keys and their choices.
class WordCollector final : public FieldVisitor {
 public:
  void visit(std::string_view key, FieldRef field, const FieldInfo&) override {
    words.emplace(key);
    if (const auto* choice = std::get_if<EnumRef>(&field)) words.insert(choice->names.begin(), choice->names.end());
    if (const auto* group = std::get_if<GroupRef>(&field)) group->fields(*this);
  }
  std::set<std::string, std::less<>> words;
};

}  // namespace

/// A pipeline definition, up to its plan.
void yaml(std::string_view input) {
  Problems problems;
  const Document document = parse_document(std::string(input), "a.yaml", problems);
  expect(walk(document.root) > 0, "a tree can be walked");
  expect(document.root || !problems.empty(), "a text is understood, or there is a problem");
  if (document.root) read_fields_of_every_kind(document.root);
  if (problems.empty()) {
    Spec spec = read_spec(document, catalogue(), problems);
    check_monitor(spec);
    check_spec(spec, catalogue(), problems);
    if (problems.empty()) {
      Spec again = read_spec(document, catalogue(), problems);
      expect(problems.empty(), "a valid text stays valid");
      for (std::size_t i = 0; i < spec.pipelines.size(); ++i)
        expect(compare(spec.pipelines[i], again.pipelines[i]).none(), "the same text gives the same spec");
    }
  }
  check_problems(problems);
}

void print_words() {
  WordCollector found;
  const Catalogue& all = catalogue();
  for (const StageEntry& entry : all.stages) {
    found.words.emplace(entry.name);
    for (const OutputSpec& o : entry.outputs) found.words.insert(std::string(entry.name) + "." + std::string(o.name));
    for (const InputSpec& i : entry.inputs) found.words.emplace(i.name);
    entry.make()->fields(found);
  }
  for (const DriverEntry& entry : all.drivers) {
    found.words.emplace(entry.name);
    if (entry.make_source) entry.make_source()->fields(found);
    if (entry.make_sink) entry.make_sink()->fields(found);
  }
  Problems none;
  PipelineSpec pipeline(Section("", {}, none));
  pipeline_fields(pipeline, found);
  Spec spec;
  monitor_fields(spec, found);
  PublishSpec publish{{}, {}, false, all.make_publish(), Section("", {}, none)};
  publish_fields(publish, found);
  publish.options->fields(found);
  all.make_pool()->fields(found);
  WorkConfig().fields(found);
  ApplySpec apply{{}, {}, Section("", {}, none)};
  apply_fields(apply, found);
  for (const std::string& word : found.words) std::printf("\"%s\"\n", word.c_str());
}

}  // namespace iqd::fuzz
