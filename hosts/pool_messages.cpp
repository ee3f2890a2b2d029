// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/pool_messages.hpp"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json_whole.hpp"
#include "hosts/framing.hpp"

namespace iqd::hosts {
namespace {

using nlohmann::json;

struct Parts {
  json head;
  std::span<const std::byte> rows;
};

std::optional<Parts> parts_of(std::string_view message) {
  std::string_view head, rows;
  if (!split(message, head, rows)) return std::nullopt;
  Parts parts{json::parse(head, nullptr, false), std::as_bytes(std::span(rows))};
  return parts.head.is_object() ? std::optional(std::move(parts)) : std::nullopt;
}

/// JSON has no number for what is not finite.
double finite(const json& value) {
  const double number = value.get<double>();
  return std::isfinite(number) ? number : throw json::other_error::create(500, "not finite", &value);
}

json block_json(const SampleBlock& b) {
  return {{"sample", b.first},
          {"length", b.length},
          {"past", b.past},
          {"future", b.future},
          {"gap", b.gap},
          {"fresh", b.fresh},
          {"dropped", b.dropped},
          {"tuned", b.tuned},
          {"retuned_hz", b.retuned_hz},
          {"was_retuned_hz", b.was_retuned_hz},
          {"calibrated", b.calibrated},
          {"was_calibrated", b.was_calibrated},
          {"time_ns", b.time_ns},
          {"time", b.time == TimeSource::radio ? "radio" : "host"}};
}

SampleBlock block_of(const json& from) {
  SampleBlock b;
  b.first = whole_of<std::int64_t>(from.at("sample"));
  b.length = whole_of<std::int64_t>(from.at("length"));
  b.past = whole_of<std::int64_t>(from.at("past"));
  b.future = whole_of<std::int64_t>(from.at("future"));
  b.gap = whole_of<std::int64_t>(from.at("gap"));
  b.fresh = from.at("fresh");
  b.dropped = whole_of<std::int64_t>(from.at("dropped"));
  b.tuned = whole_of<std::int64_t>(from.at("tuned"));
  b.retuned_hz = finite(from.at("retuned_hz"));
  b.was_retuned_hz = finite(from.at("was_retuned_hz"));
  b.calibrated = from.at("calibrated");
  b.was_calibrated = from.at("was_calibrated");
  b.time_ns = whole_of<std::int64_t>(from.at("time_ns"));
  b.time = from.at("time") == "radio" ? TimeSource::radio : TimeSource::host;
  return b;
}

/// A count that others may add up.
int small_count(const json& value) {
  constexpr int kMost = 4096;
  const int count = whole_of<int>(value);
  return count >= 0 && count <= kMost ? count : throw json::other_error::create(500, "out of range", &value);
}

std::int64_t duration_ns(const json& value) {
  const auto ns = whole_of<std::int64_t>(value);
  return ns >= 0 ? ns : throw json::other_error::create(500, "negative", &value);
}

/// What `read` makes of it; nothing if a key is missing or of another kind.
template <class Read> auto attempt(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

PoolNames::PoolNames(const std::string& pool)
    : todo_stream("IQD_" + pool + "_todo"),
      done_stream("IQD_" + pool + "_done"),
      plan_stream("IQD_" + pool + "_plan"),
      todo("iqd." + pool + ".todo"),
      done("iqd." + pool + ".done"),
      plans("iqd." + pool + ".plan.*"),
      here("iqd." + pool + ".here"),
      home("iqd." + pool + ".home"),
      plan_root("iqd." + pool + ".plan.") {}

std::string block_head(const BlockHead& head) {
  json text = block_json(head.block);
  text["run"] = head.run;
  text["seq"] = head.number;
  text["plan"] = head.plan;
  return framed(text.dump());
}

std::string result_head(const ResultHead& head, std::span<const std::size_t> bytes) {
  json ports = json::array();
  for (std::size_t i = 0; i < head.ports.size(); ++i)
    ports.push_back({head.ports[i].first, head.ports[i].length, bytes[i], head.ports[i].is_missing});
  return framed(json{{"run", head.run},
                     {"seq", head.number},
                     {"worker", head.worker},
                     {"device", head.device},
                     {"compute_ns", head.compute_ns},
                     {"ports", std::move(ports)}}
                    .dump());
}

std::string here_text(const HereMessage& here) {
  return json{{"worker", here.worker}, {"build", here.build}, {"device", here.device},  {"lanes", here.lanes},
              {"busy", here.busy},     {"done", here.done},   {"trouble", here.trouble}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<BlockHead> read_block(std::string_view message, std::span<const std::byte>& samples) {
  const std::optional<Parts> parts = parts_of(message);
  if (!parts) return std::nullopt;
  samples = parts->rows;
  const json& head = parts->head;
  return attempt([&] {
    return BlockHead{head.at("run"), whole_of<std::uint64_t>(head.at("seq")), head.at("plan"), block_of(head)};
  });
}

std::optional<ResultHead> read_result(std::string_view message) {
  const std::optional<Parts> parts = parts_of(message);
  if (!parts) return std::nullopt;
  const json& head = parts->head;
  auto result = attempt([&] {
    ResultHead r{head.at("run"),    whole_of<std::uint64_t>(head.at("seq")), head.at("worker"),
                 head.at("device"), duration_ns(head.at("compute_ns")),      {}};
    std::span<const std::byte> left = parts->rows;
    for (const json& port : head.at("ports")) {
      const auto bytes = whole_of<std::size_t>(port.at(2));
      if (bytes > left.size()) throw json::other_error::create(500, "shorter than its ports", &port);
      r.ports.push_back(
          {whole_of<std::int64_t>(port.at(0)), whole_of<std::int64_t>(port.at(1)), port.at(3), left.first(bytes)});
      left = left.subspan(bytes);
    }
    return r;
  });
  return result;
}

std::optional<HereMessage> read_here(std::string_view text) {
  const json here = json::parse(text, nullptr, false);
  if (!here.is_object()) return std::nullopt;
  return attempt([&] {
    return HereMessage{here.at("worker"),
                       here.at("build"),
                       here.at("device"),
                       small_count(here.at("lanes")),
                       small_count(here.at("busy")),
                       whole_of<std::uint64_t>(here.at("done")),
                       here.at("trouble")};
  });
}

}  // namespace iqd::hosts
