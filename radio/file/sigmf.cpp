// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/sigmf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace iqd::radio {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr double kMostRate = 1e12;  // as in SigMF's schema
constexpr std::string_view kMetaEnd = ".sigmf-meta";
constexpr std::string_view kDataEnd = ".sigmf-data";

/// Reads the members of a JSON object, and reports those with a wrong type or value.
class Members {
 public:
  Members(const Json& object, std::string where, std::vector<std::string>& problems)
      : object_(object), where_(std::move(where)), problems_(problems) {}

  void problem(std::string_view key, std::string_view what) const {
    problems_.push_back(fmt::format("{}: {} {}", where_, key, what));
  }
  const Json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  std::string text(const char* key) const {
    const Json* value = find(key);
    if (value && !value->is_string()) problem(key, "must be a string");
    return value && value->is_string() ? value->get<std::string>() : std::string();
  }
  std::optional<double> number(const char* key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
    problem(key, "must be a number");
    return std::nullopt;
  }
  /// Some programs write whole numbers as 1000.0.
  std::optional<std::int64_t> index(const char* key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    const double x = value->is_number() ? value->get<double>() : -1;
    if (x >= 0 && x <= static_cast<double>(kMostSigmfIndex) && x == std::floor(x)) return static_cast<std::int64_t>(x);
    problem(key, fmt::format("must be a whole number from 0 to {}", kMostSigmfIndex));
    return std::nullopt;
  }

 private:
  const Json& object_;
  std::string where_;
  std::vector<std::string>& problems_;
};

/// Those of SigMF itself and of NTIA describe the samples, and leave them as they are.
bool only_describes(const std::string& extension) {
  constexpr std::string_view kKnown[] = {"adsb",         "antenna", "capture_details", "signal", "spatial",
                                         "traceability", "wifi"};
  return std::ranges::find(kKnown, extension) != std::end(kKnown) || extension.starts_with("ntia-");
}

void check_extensions(const Members& global) {
  const Json* extensions = global.find("core:extensions");
  if (!extensions || !extensions->is_array()) return;
  for (const Json& e : *extensions) {
    if (!e.is_object() || e.value("optional", Json(true)) != Json(false)) continue;
    const Json name = e.value("name", Json("?"));
    if (name.is_string() && only_describes(name.get<std::string>())) continue;
    global.problem("core:extensions", fmt::format("requires {}, which iqd does not know; if the samples can be read "
                                                  "without it, set its \"optional\" to true",
                                                  name.dump()));
  }
}

void read_global(const Members& global, SigmfMeta& meta, std::string_view rate_hint) {
  meta.datatype = global.text("core:datatype");
  if (!global.find("core:datatype"))
    global.problem("core:datatype", "is missing; add the sample type, e.g. \"ci16_le\"");
  const auto rate = global.number("core:sample_rate");
  if (!global.find("core:sample_rate") && !rate_hint.empty())
    global.problem("core:sample_rate", fmt::format("is missing; add the samples per second, or {}", rate_hint));
  if (rate && !(*rate > 0 && *rate <= kMostRate)) {
    global.problem("core:sample_rate", fmt::format("is {}; it must be more than 0, up to {}", *rate, kMostRate));
  } else {
    meta.rate_hz = rate.value_or(0);
  }
  meta.channels = global.index("core:num_channels").value_or(1);
  if (meta.channels < 1 || meta.channels > kMostSigmfChannels) {
    global.problem("core:num_channels", fmt::format("is {}; it must be 1 to {}", meta.channels, kMostSigmfChannels));
    meta.channels = 1;
  }
  meta.offset = global.index("core:offset").value_or(0);
  meta.trailing_bytes = global.index("core:trailing_bytes").value_or(0);
  const Json* only = global.find("core:metadata_only");
  meta.metadata_only = only && *only == Json(true);
  meta.dataset = global.text("core:dataset");
  if (meta.dataset.find('/') != std::string::npos || meta.dataset.find('\0') != std::string::npos) {
    global.problem("core:dataset", "must be the name of a file beside the metadata, without folders");
    meta.dataset.clear();
  }
  meta.author = global.text("core:author");
  meta.description = global.text("core:description");
  meta.hardware = global.text("core:hw");
  meta.recorder = global.text("core:recorder");
  check_extensions(global);
}

SigmfCapture read_capture(const Members& members) {
  SigmfCapture capture;
  capture.sample_start = members.index("core:sample_start").value_or(0);
  if (!members.find("core:sample_start")) members.problem("core:sample_start", "is missing");
  capture.global_index = members.index("core:global_index");
  capture.frequency_hz = members.number("core:frequency");
  capture.header_bytes = members.index("core:header_bytes").value_or(0);
  if (const std::string text = members.text("core:datetime"); !text.empty()) {
    capture.time = parse_iso_time(text);
    if (!capture.time) capture.time = parse_iso_time(text + "Z");  // some leave it out; SigMF knows only UTC
    if (!capture.time) members.problem("core:datetime", "must be a time such as 2025-03-31T12:00:00.123456789Z");
  }
  return capture;
}

/// The list under `key`, or null; reports any other type.
const Json* list(const Json& root, const char* key, std::vector<std::string>& problems) {
  const auto found = root.find(key);
  if (found == root.end()) return nullptr;
  if (found->is_array()) return &*found;
  problems.push_back(fmt::format("{} must be a list", key));
  return nullptr;
}

void read_captures(const Json& root, SigmfMeta& meta, std::vector<std::string>& problems) {
  constexpr std::size_t kMostProblems = 10;  // a broken recording may have thousands of bad captures
  const Json* captures = list(root, "captures", problems);
  if (!captures) return;
  for (std::size_t i = 0; i < captures->size() && problems.size() < kMostProblems; ++i) {
    const std::string where = fmt::format("captures[{}]", i);
    if (!(*captures)[i].is_object()) {
      problems.push_back(where + " must be an object");
      continue;
    }
    meta.captures.push_back(read_capture(Members((*captures)[i], where, problems)));
    const auto n = meta.captures.size();
    if (n > 1 && meta.captures[n - 1].sample_start < meta.captures[n - 2].sample_start)
      problems.push_back(where + ": core:sample_start is less than the previous one; captures must be sorted by it");
  }
}

/// Without those of extensions, which the new recording does not name.
std::string own_members(const Json& annotation) {
  OrderedJson own = OrderedJson::object();
  for (const auto& [key, value] : annotation.items())
    if (key.starts_with("core:") && value.is_primitive()) own[key] = value;
  return own.dump();
}

void read_annotations(const Json& root, SigmfMeta& meta, std::vector<std::string>& problems) {
  const Json* annotations = list(root, "annotations", problems);
  if (!annotations) return;
  std::vector<std::string> ignored;  // annotations are not used, so no problem in them matters
  for (const Json& a : *annotations) {
    if (!a.is_object()) continue;
    const Members members(a, "annotations", ignored);
    const auto start = members.index("core:sample_start");
    if (!start) continue;
    SigmfAnnotation& read = meta.annotations.emplace_back();
    read.sample_start = *start;
    read.sample_count = members.index("core:sample_count").value_or(0);
    read.members = own_members(a);
    meta.annotated_end = std::max(meta.annotated_end, read.end());
  }
}

OrderedJson capture_json(const SigmfCapture& capture) {
  OrderedJson json;
  json["core:sample_start"] = capture.sample_start;
  if (capture.global_index) json["core:global_index"] = *capture.global_index;
  if (capture.frequency_hz) json["core:frequency"] = *capture.frequency_hz;
  if (capture.time) json["core:datetime"] = format_iso_time(capture.time->ns);
  if (capture.header_bytes) json["core:header_bytes"] = capture.header_bytes;
  return json;
}

OrderedJson annotation_json(const SigmfAnnotation& annotation) {
  if (!annotation.members.empty()) {
    OrderedJson json = OrderedJson::parse(annotation.members);
    json["core:sample_start"] = annotation.sample_start;
    if (json.contains("core:sample_count")) json["core:sample_count"] = annotation.sample_count;
    return json;
  }
  return {{"core:sample_start", annotation.sample_start},
          {"core:sample_count", annotation.sample_count},
          {"core:label", annotation.label},
          {"core:comment", annotation.comment},
          {"core:generator", "iqd"}};
}

}  // namespace

SigmfMeta parse_sigmf(std::string_view text, std::vector<std::string>& problems, std::string_view rate) {
  SigmfMeta meta;
  const Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded()) {
    problems.emplace_back(
        "is not JSON, as a .sigmf-meta file must be (/usr/bin/python3 -m json.tool FILE shows the error)");
    return meta;
  }
  if (!root.is_object() || !root.contains("global") || !root["global"].is_object()) {
    problems.emplace_back("is not SigMF: it has no \"global\" object");
    return meta;
  }
  read_global(Members(root["global"], "global", problems), meta, rate);
  read_captures(root, meta, problems);
  read_annotations(root, meta, problems);
  return meta;
}

std::string sigmf_text(const SigmfMeta& meta) {
  OrderedJson root;
  OrderedJson& global = root["global"];
  global["core:datatype"] = meta.datatype;
  global["core:version"] = "1.2.5";
  global["core:sample_rate"] = meta.rate_hz;
  global["core:num_channels"] = meta.channels;
  global["core:recorder"] = meta.recorder;
  if (!meta.hardware.empty()) global["core:hw"] = meta.hardware;
  if (!meta.author.empty()) global["core:author"] = meta.author;
  if (!meta.description.empty()) global["core:description"] = meta.description;
  OrderedJson& captures = root["captures"] = OrderedJson::array();
  for (const SigmfCapture& c : meta.captures) captures.push_back(capture_json(c));
  OrderedJson& annotations = root["annotations"] = OrderedJson::array();
  for (const SigmfAnnotation& a : meta.annotations) annotations.push_back(annotation_json(a));
  return root.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

SigmfPaths sigmf_paths(std::string_view path) {
  std::string base(path);
  for (const std::string_view end : {kMetaEnd, kDataEnd}) {
    if (path.size() > end.size() && path.substr(path.size() - end.size()) == end)
      base = path.substr(0, path.size() - end.size());
  }
  return {base + std::string(kMetaEnd), base + std::string(kDataEnd)};
}

}  // namespace iqd::radio
