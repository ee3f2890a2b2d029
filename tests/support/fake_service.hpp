// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

#include "daemon/http/service.hpp"
#include "pipeline/spec_plan.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {

/// A daemon that does nothing: it returns what the test has set, and records requested changes.
class FakeService : public Service {
 public:
  FakeService() {
    document = parse_document(
        "name: test\nsource: {radio: {rate: 1 MS/s}}\nblock: 1000\nstages:\n  - window: {past: 100, future: 10}\n"
        "publish:\n  - {port: window, topic: a, bind: x}\n",
        "x.yaml", problems);
    spec = read_spec(document, catalogue, problems);
    plans = check_spec(spec, catalogue, problems);
    PipelineStatus s;
    s.name = "test";
    s.radio = "radio";
    s.state = SourceState::streaming;
    s.backend = "cuda:0";
    s.gpu_share = 16;
    s.rate_hz = 1e6;
    s.block_s = 1e-3;
    s.lanes = 4;
    s.slots = s.slots_free = 32;
    s.ports.push_back({"window.out", "a", 7, 7000, 1, {2, 3, 4}});
    s.endpoints.push_back({"tcp://127.0.0.1:5555", 2, 5, 6});
    s.steps = {{"window", {}}, {"results", {}}};
    s.late = 6;
    s.frequency_hz = 433e6;
    s.ahead_s = -0.0125;
    s.drift = ClockDrift::Estimate{2.5, 0.5, 298};
    s.calibrated = 1;
    s.channels = {{-20.5, -17, 9, 1, true}};
    status.push_back(s);
  }
  double uptime_s() const override { return uptime; }
  std::optional<WorkStatus> work() const override { return worker; }
  std::vector<PipelineStatus> statuses() const override { return locked()->status; }
  std::vector<std::string> not_ready() const override { return locked()->unready; }
  std::vector<std::string> not_healthy() const override { return locked()->unhealthy; }
  void visit_plans(const std::function<void(const Plan&, const PipelineStatus&)>& visit) const override {
    const auto held = locked();
    for (std::size_t i = 0; i < plans.size(); ++i) visit(plans[i], status[i]);
  }
  void visit_parts(const std::function<void(const AskedPart&)>& visit) const override {
    const auto held = locked();
    for (const PipelinePart& part : parts_of(spec.pipelines.front(), catalogue)) {
      const bool is_source = part.kind == PipelinePart::Kind::source;
      visit({spec.pipelines.front().name, part, is_source ? device : DeviceKeys(), origins});
    }
  }
  ChangeReport reload() override {
    ++reloads;
    return locked()->report;
  }
  ChangeReport set(std::string_view pipeline, std::string_view stage, std::string_view keys) override {
    const auto held = locked();
    asked = std::string(pipeline) + "|" + std::string(stage) + "|" + std::string(keys);
    return report;
  }

  /// Access to its fields while no request is answered: `service.locked()->unready = …`.
  template <typename Self> class Locked {
   public:
    explicit Locked(Self& self) : lock_(self.mutex), self_(self) {}
    Self* operator->() const { return &self_; }

   private:
    std::unique_lock<std::mutex> lock_;
    Self& self_;
  };
  Locked<FakeService> locked() { return Locked<FakeService>(*this); }
  Locked<const FakeService> locked() const { return Locked<const FakeService>(*this); }

  Catalogue catalogue = test_catalogue();
  Problems problems;
  Document document;
  Spec spec;
  std::vector<Plan> plans;
  DeviceKeys device;  // of the source
  KeyOrigins origins;
  std::vector<PipelineStatus> status;
  std::vector<std::string> unready;
  std::vector<std::string> unhealthy;
  std::atomic<double> uptime{1};
  std::optional<WorkStatus> worker{};  // it is a worker as well
  std::atomic<int> reloads{0};
  ChangeReport report{ChangeReport::Result::applied, {"done"}};
  mutable std::mutex mutex;
  std::string asked;
};

}  // namespace iqd::testing
