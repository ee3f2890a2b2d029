// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <optional>

#include "daemon/http/http_access.hpp"
#include "daemon/http/http_routes.hpp"
#include "daemon/run/change_request.hpp"
#include "pipeline/spec_plan.hpp"
#include "tests/fuzz/target.hpp"

namespace iqd::fuzz {
namespace {

constexpr const char* kPipelines = R"(pipelines:
- name: test
  source: {generate: {rate: 1 MS/s}}
  block: 4096
  stages:
  - agc: {window: 256}
  - fir: {taps: [1, 2, 1]}
  - rotate: {frequency: 1 kHz}
  - spectrum: {size: 64}
  - peak_finder: {threshold: -60}
  - squelch: {from: rotate, threshold: 1.5, window: 64, hold: 20, ramp: 8}
  - align_channels: {from: rotate, gain: [1 dB], phase: [90], delay: [0.5]}
  - multiply_const: {from: rotate, value: 2}
  publish:
  - {port: peak_finder, topic: a, bind: "tcp://127.0.0.1:5555"}
- name: other
  source: {generate: {rate: 1 MS/s}}
  stages:
  - quadrature_demod: {}
)";

/// A daemon that parses requested changes, but does not make them.
class ReadingService final : public Service {
 public:
  ReadingService() {
    loaded_.read(parse_document(kPipelines, "test.yaml", loaded_.problems));
    plans_ = check_spec(loaded_.spec, catalogue(), loaded_.problems);
    expect(!report(loaded_.problems), "the pipelines are valid");
    for (const PipelineSpec& p : loaded_.spec.pipelines) statuses_.emplace_back().name = p.name;
  }
  double uptime_s() const override { return 1; }
  std::vector<PipelineStatus> statuses() const override { return statuses_; }
  std::vector<std::string> not_ready() const override { return {"test: not yet"}; }
  std::vector<std::string> not_healthy() const override { return {}; }
  void visit_plans(const std::function<void(const Plan&, const PipelineStatus&)>& visit) const override {
    for (std::size_t i = 0; i < plans_.size(); ++i) visit(plans_[i], statuses_[i]);
  }
  void visit_parts(const std::function<void(const AskedPart&)>& visit) const override {
    for (const PipelineSpec& p : loaded_.spec.pipelines)
      for (const PipelinePart& part : parts_of(p, catalogue())) visit({p.name, part, {}, origins_});
  }
  ChangeReport reload() override { return {}; }
  ChangeReport set(std::string_view pipeline, std::string_view stage, std::string_view keys) override {
    for (PipelineSpec& running : loaded_.spec.pipelines) {
      const auto has_name = [&](const StageSpec& s) { return s.name == stage; };
      if (running.name != pipeline || (stage != "source" && std::ranges::none_of(running.stages, has_name))) continue;
      Loaded next;
      std::vector<Override> overrides;
      const ChangeRequest request{std::string(stage), std::string(keys)};
      if (auto no = read_request(request, loaded_.document, running, overrides, next)) return *std::move(no);
      check_spec(next.spec, catalogue(), next.problems);
      return next.problems.empty() ? ChangeReport{} : refused(next.problems);
    }
    return {ChangeReport::Result::unknown, {"no such pipeline or stage"}};
  }

 private:
  Loaded loaded_;
  std::vector<Plan> plans_;
  KeyOrigins origins_;
  std::vector<PipelineStatus> statuses_;
};

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 2));
  return line;
}

/// As the server passes it on.
struct Request {
  explicit Request(std::string_view text) {
    const std::string_view first = take_line(text);
    const std::size_t space = first.find(' ');
    method = first.substr(0, space);
    path = space == first.npos ? "" : first.substr(space + 1);
    path = path.substr(0, path.find_first_of(" ?"));
    for (std::string_view line = take_line(text); !line.empty(); line = take_line(text)) {
      for (const auto& [name, value] : {std::pair{"Host: ", &host}, {"Origin: ", &origin}, {"Authorization: ", &token}})
        if (line.starts_with(name)) *value = std::string(line.substr(std::string_view(name).size()));
    }
    body = text;
  }
  Caller caller() const {
    const auto text = [](const std::optional<std::string>& s) { return s ? s->c_str() : nullptr; };
    return {text(host), text(origin), text(token)};
  }
  std::string_view method, path, body;
  std::optional<std::string> host, origin, token;
};

void check_answer(const HttpAnswer& answer) {
  expect(answer.status >= 200 && answer.status < 600, "an answer has a status");
  expect(answer.header.empty() ||
             (answer.header.ends_with("\r\n") && answer.header.find("\r\n\r\n") == answer.header.npos),
         "headers are whole lines");
  if (answer.type == "application/json")
    expect(nlohmann::json::accept(answer.body), "an answer of JSON is JSON: " + answer.body);
}

}  // namespace

/// A parsed request: its access rights, its route, and the keys to be set.
void http(std::string_view input) {
  static ReadingService service;
  static PlanView plans;
  static const HttpAccess doors[] = {{true, ""}, {true, "0123456789abcdef"}, {false, ""}, {false, "0123456789abcdef"}};
  const Request request(input);
  parse_listen(request.host.value_or(""));
  bool may_change = false;
  for (const HttpAccess& door : doors)
    may_change = (!door.refuse(request.caller()) && !door.refuse_change(request.caller())) || may_change;
  static const live::LiveHub viewers;
  HttpCall call{service, plans, &viewers, {}, request.body, {}, "192.0.2.1", {}};
  HttpAnswer answer;
  const HttpRoute* route = find_route(request.method, request.path, call.names, answer);
  if (route && route->changes() && !may_change) return;
  if (route) answer = route->answer(call);
  check_answer(answer);
}

}  // namespace iqd::fuzz
