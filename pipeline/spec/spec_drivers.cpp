// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_drivers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/flow_text.hpp"
#include "config/reader.hpp"
#include "pipeline/spec/calibration_table.hpp"
#include "pipeline/spec/spec_entry.hpp"

namespace iqd {
namespace {

/// The drivers that can make a source or a sink, whichever `make` points to.
template <class Make>
std::vector<std::string_view> names_with(std::span<const DriverEntry> drivers, Make DriverEntry::*make) {
  std::vector<std::string_view> names;
  for (const DriverEntry& d : drivers)
    if (d.*make) names.push_back(d.name);
  return names;
}

/// ` (did you mean 'file'?)` for a driver's name that is nearly right, or for a word that users have for it.
template <class Make>
std::string meant_driver(const std::string& word, std::span<const DriverEntry> drivers, Make DriverEntry::*make) {
  const auto has_word = [&](const DriverEntry& d) {
    return d.*make && fmt::format(" {} ", d.other_names).find(fmt::format(" {} ", word)) != std::string::npos;
  };
  const auto at = std::ranges::find_if(drivers, has_word);
  if (at != drivers.end() && !word.empty()) return fmt::format(" (did you mean '{}'?)", at->name);
  return did_you_mean(word, names_with(drivers, make));
}

}  // namespace

void read_source(const Node& node, PipelineSpec& spec, const Catalogue& catalogue, std::span<const Override> overrides,
                 Problems& problems) {
  if (!node) {
    const auto known = names_with(catalogue.drivers, &DriverEntry::make_source);
    problems.push_back({node.place(), node.path(), fmt::format("is required: one of {}", fmt::join(known, ", "))});
    return;
  }
  const auto entry = only_entry(node, "a driver", problems);
  if (!entry) return;
  const auto found = std::find_if(catalogue.drivers.begin(), catalogue.drivers.end(),
                                  [&](const DriverEntry& d) { return d.name == entry->first && d.make_source; });
  if (found == catalogue.drivers.end()) {
    const auto known = names_with(catalogue.drivers, &DriverEntry::make_source);
    problems.push_back({node.key_place(entry->first), entry->second.path(),
                        fmt::format("this build has no such source{}; it has {}",
                                    meant_driver(entry->first, catalogue.drivers, &DriverEntry::make_source),
                                    fmt::join(known, ", "))});
    return;
  }
  const Node::Kind kind = entry->second.kind();
  const bool has_keys = kind == Node::Kind::map || kind == Node::Kind::null;
  spec.driver = &*found;
  spec.source = found->make_source();
  spec.source_section = read_keys(
      overridden(entry->second, spec.name, "source", overrides), node, entry->first,
      [&](FieldVisitor& v) { spec.source->fields(v); }, problems);
  if (!has_keys) return spec.source.reset();
  if (const std::string path = spec.source->calibration(); !path.empty()) {
    const FoundFile file = find_file(node.place(), path);
    if (!file.looked.empty())
      spec.source_section->problem("calibration", fmt::format("{}: there is no such file{}", path, file.looked));
    else if (auto table = load_calibration(file.path, problems))
      spec.calibration = std::make_shared<CalibrationTable>(*table);
  }
}

void read_sink(const Node& item, PipelineSpec& spec, const Catalogue& catalogue, Problems& problems) {
  if (item.kind() != Node::Kind::map)
    return problems.push_back(
        {item.place(), item.path(), fmt::format("expected a map of keys, found {}", item.found())});
  SinkSpec sink{{}, nullptr, nullptr, Section(item.path(), item.place(), problems)};
  const auto known = names_with(catalogue.drivers, &DriverEntry::make_sink);
  bool is_known = true;
  const auto entries = item.entries();
  const auto places = item.key_places();
  for (std::size_t i = 0; i < entries.size() && !are_enough(problems); ++i) {
    const auto& [key, node] = entries[i];
    sink.section.note(key, places[i]);
    const auto driver = std::find_if(catalogue.drivers.begin(), catalogue.drivers.end(),
                                     [&k = key](const DriverEntry& d) { return d.name == k && d.make_sink; });
    if (key == "port") {
      sink.port = node.scalar();
    } else if (driver == catalogue.drivers.end()) {
      is_known = false;
      sink.section.problem(
          key, fmt::format("is neither `port` nor a sink of this build{}; it has {}",
                           meant_driver(key, catalogue.drivers, &DriverEntry::make_sink), fmt::join(known, ", ")));
    } else if (sink.driver) {
      sink.section.problem(key, "one sink per entry: add another entry for this one");
    } else {
      sink.driver = &*driver;
      sink.options = driver->make_sink();
      sink.section = read_keys(
          node, item, key, [&](FieldVisitor& v) { sink.options->fields(v); }, problems);
    }
  }
  if (const auto window = spec.source ? spec.source->window() : nullptr; window && sink.options)
    sink.options->enter_window(window, json_text(item));
  if (sink.port.empty()) sink.section.problem("", "needs `port: stage.output`");
  if (!sink.driver && is_known)
    sink.section.problem("", fmt::format("needs a sink: one of {}", fmt::join(known, ", ")));
  spec.sinks.push_back(std::move(sink));
}

}  // namespace iqd
