// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "config/document.hpp"
#include "config/quantity.hpp"
#include "daemon/command/stage_keys.hpp"
#include "daemon/exec/exec_request.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

using nlohmann::ordered_json;

/// The letters that a word begins with.
std::string name_in(const std::string& word) {
  return word.substr(0, word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"));
}

bool is_file(const std::string& word) {
  std::error_code ignored;
  return std::filesystem::exists(word, ignored) || std::filesystem::exists(word + ".sigmf-meta", ignored);
}

/// `fir: …` is a stage; a bare name, too, unless there is a file of that name and no stage. If `--file` has the stages,
/// only a name that is a stage's can be meant as one.
bool is_stage(const std::string& word, bool has_pipeline) {
  const std::string name = name_in(word);
  if (name.size() < word.size()) return word.front() == '{' || (!name.empty() && word[name.size()] == ':');
  if (name.empty()) return false;
  return has_pipeline ? find_stage(name) && !is_file(word) : find_stage(name) || !is_file(word);
}

ordered_json json_of(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::map: {
      ordered_json map = ordered_json::object();
      for (const auto& [key, value] : node.entries()) map[key] = json_of(value);
      return map;
    }
    case Node::Kind::sequence: {
      ordered_json list = ordered_json::array();
      for (const Node& item : node.items()) list.push_back(json_of(item));
      return list;
    }
    case Node::Kind::scalar: return node.scalar();
    case Node::Kind::missing:
    case Node::Kind::null: break;
  }
  return nullptr;
}

std::string text_of(const ordered_json& json) {
  try {
    return json.dump();
  } catch (const ordered_json::type_error&) {
    throw UsageError("exec: an argument is not UTF-8");
  }
}

/// Parses what was written on the command line, where lines and columns say nothing.
Document parse_word(const std::string& text, const std::string& label, Problems& problems) {
  Problems found;
  Document document = parse_document(text, label, found);
  for (Problem& p : found) p.place.line = p.place.column = 0;
  problems.insert(problems.end(), found.begin(), found.end());
  return document;
}

ExecStage read_stage(const std::string& word, std::size_t number, const std::vector<std::string>& config,
                     Problems& problems) {
  const std::string begin = name_in(word);
  const bool bare = begin == word;
  ExecStage stage{begin, "", "{}", fmt::format("stage {} `{}`", number, begin.empty() ? word : begin)};
  const auto fail = [&](std::string what) {
    problems.push_back({{stage.label}, "", std::move(what)});
    return stage;
  };
  const std::size_t before = problems.size();
  const Document document = bare ? Document{} : parse_word(word, stage.label, problems);
  if (problems.size() > before) return stage;
  const auto entries = document.root.entries();
  if (!bare && entries.size() != 1) return fail("expected one stage, as `fir: {taps: [1, 2, 1]}`");
  if (!bare) stage.entry = entries.front().first;
  stage.label = fmt::format("stage {} `{}`", number, stage.entry);
  if (!find_stage(stage.entry)) return fail("there is no such stage; `iqd stages` lists them");
  Node keys = bare ? Node() : entries.front().second;
  if (keys && keys.kind() != Node::Kind::map && keys.kind() != Node::Kind::null)
    return fail("expected its keys as a map, `{key: value}`, found " + keys.found());
  if (const std::string more = keys_of(config); !more.empty())
    keys = with_entries(keys, parse_word(more, stage.label, problems).root);
  ordered_json json = keys.kind() == Node::Kind::map ? json_of(keys) : ordered_json::object();
  stage.name = keys["name"].scalar();
  json.erase("name");
  stage.keys = text_of(json);
  return stage;
}

/// Stages of one kind are numbered, unless they have names.
void name_all(std::vector<ExecStage>& stages) {
  std::map<std::string, int> used;
  for (ExecStage& stage : stages) {
    if (!stage.name.empty()) continue;
    const int number = ++used[stage.entry];
    stage.name = number > 1 ? fmt::format("{}_{}", stage.entry, number) : stage.entry;
  }
}

PortFile port_file(const char* option, const std::string& item) {
  const auto equals = item.find('=');
  if (equals == item.npos) return {"", item, item};
  return {item.substr(0, equals), item.substr(equals + 1), fmt::format("{} {}", option, item)};
}

}  // namespace

ExecWords sort_words(const ExecRequest& request, Problems& problems) {
  const auto& words = request.words;
  const auto file =
      std::ranges::find_if_not(words, [&](const std::string& word) { return is_stage(word, !request.file.empty()); });
  ExecWords sorted{{}, {file, words.end()}};
  if (sorted.files.size() > 2)
    throw UsageError(
        fmt::format("exec: after the stages come IN and OUT; '{}' is neither; a stage is written as "
                    "`name` or `name: {{key: value}}`",
                    sorted.files[2]));
  const auto stages = static_cast<std::size_t>(file - words.begin());
  if (stages > 1 && !request.config.empty())
    throw UsageError("exec: --config is for a single stage; write the keys with each: 'fir: {taps: [1, 2, 1]}'");
  for (std::size_t s = 0; s < stages; ++s)
    sorted.stages.push_back(read_stage(words[s], s + 1, request.config, problems));
  name_all(sorted.stages);
  return sorted;
}

std::vector<PortFile> inputs_of(const ExecRequest& request, const ExecWords& words) {
  std::vector<PortFile> in;
  for (const std::string& item : request.in) in.push_back(port_file("--in", item));
  if (!words.files.empty()) in.push_back({"", words.files.front(), words.files.front()});
  return in;
}

std::vector<PortFile> outputs_of(const ExecRequest& request, const ExecWords& words) {
  std::vector<PortFile> out;
  if (words.files.size() > 1) out.push_back({"", words.files[1], words.files[1]});
  for (const std::string& item : request.out) out.push_back(port_file("--out", item));
  const auto unnamed = [&] { return std::ranges::find(out, "", &PortFile::port); };
  for (const std::string& item : request.ports) {
    if (item.find('=') != item.npos) {
      out.push_back(port_file("--port", item));
    } else if (const auto bare = unnamed(); bare != out.end()) {
      bare->port = item;
      bare->label = "--port " + item;
    } else {
      throw UsageError(fmt::format("exec: --port {}: say which file gets it: --port {}=FILE", item, item));
    }
  }
  if (std::ranges::count(out, "", &PortFile::port) > 1)
    throw UsageError(
        fmt::format("exec: {}: say which port it gets: --port stage.output={}", unnamed()->file, unnamed()->file));
  return out;
}

void refuse_twice(const std::vector<PortFile>& out) {
  std::set<std::string> files;
  for (const PortFile& port : out)
    if (!files.insert(port.file).second) throw UsageError(fmt::format("exec: {} is given twice", port.file));
}

std::pair<double, double> radio_of(const ExecRequest& request) {
  const auto read = [](const char* option, const std::string& text, Unit unit) {
    if (text.empty()) return 0.0;
    std::string why;
    const auto value = parse_quantity(text, unit, why);
    if (!value) throw UsageError(fmt::format("{}: {}", option, why));
    if (!(*value >= 0)) throw UsageError(fmt::format("{}: must not be negative, is {}", option, text));
    if (unit == Unit::rate && *value == 0) throw UsageError(fmt::format("{}: must be more than 0", option));
    return *value;
  };
  return {read("--rate", request.rate, Unit::rate), read("--frequency", request.frequency, Unit::hertz)};
}

std::string whole_name(const std::string& port, const std::vector<std::string>& stages, const StageEntry& last) {
  if (port == "source" || port.find('.') != port.npos || std::ranges::find(stages, port) != stages.end()) return port;
  const auto& outputs = last.outputs;
  if (port == "out" && outputs.size() == 1) return fmt::format("{}.{}", stages.back(), outputs.front().name);
  const bool is_last = std::ranges::find(outputs, port, &OutputSpec::name) != outputs.end();
  return is_last ? stages.back() + "." + port : port;
}

void name_places(Problems& problems, const std::string& document, const std::vector<ExecStage>& stages) {
  constexpr std::string_view kStages = "stages[";
  for (Problem& p : problems) {
    if (p.place.line > 0 && p.place.file != document) continue;
    std::string key = std::exchange(p.path, {});
    if (p.place.file == document) {
      p.place = {};
      if (key.starts_with(kStages)) {
        const ExecStage& stage = stages.at(std::stoul(key.substr(kStages.size())));
        p.place.file = stage.label;
        const std::string begin = key.substr(0, key.find(']') + 1) + "." + stage.entry + ".";
        key = key.starts_with(begin) ? key.substr(begin.size()) : "";
      } else if (key == "block" || key == "backend") {
        p.place.file = "--" + std::exchange(key, {});
      }
    } else {
      if (key == "port" || key == "path") key.clear();  // the label says it
      if (key.empty() && p.what.starts_with(p.place.file + ":")) p.place.file.clear();
    }
    if (!key.empty()) p.what = fmt::format("{}: {}", key, p.what);
  }
}

}  // namespace iqd
