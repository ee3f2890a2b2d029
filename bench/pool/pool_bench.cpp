// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// pool_bench work SERVER LANES: a worker.
// pool_bench home FILE SECONDS: runs a pipeline for so long, and prints its last status while it ran, and that at its end.
//
// Both have one stage more than iqd: `sleep: {for: TIME, keep: N}` waits as for a GPU, and keeps one in N samples. So
// a few CPUs can run many workers, and what they use is the cost of the transport. `pool.py` starts all of them.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/http/status.hpp"
#include "daemon/work/worker.hpp"
#include "pipeline/pipeline.hpp"

namespace iqd {
namespace {

volatile std::sig_atomic_t over = 0;

class SleepStage final : public Stage {
 public:
  void fields(FieldVisitor& v) override {
    v.field("for", seconds_, {.help = "how long", .unit = Unit::seconds});
    v.field("keep", keep_, {.help = "one in so many samples", .low = 1});
  }
  void shape(ShapeContext& context) override {
    context.footprint[0] = {0, 0, keep_, 1};
    context.out[0].rate_hz = context.in[0].rate_hz / static_cast<double>(keep_);
  }
  std::unique_ptr<StageRun> make(Backend& /*backend*/) const override {
    return cpu_run([seconds = seconds_, keep = keep_](const StageIo& io) noexcept {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      const PortIo &in = io.in[0], &out = io.out[0];
      for (std::int64_t p = out.first; p < out.end(); ++p)
        out.row<cf32>()[p - out.first] = in.row<cf32>()[p * keep - in.first];
    });
  }

 private:
  double seconds_ = 0;
  std::int64_t keep_ = 1;
};

const Catalogue& bench_catalogue() {
  static const std::vector<StageEntry> stages = [] {
    std::vector<StageEntry> all(all_stages().begin(), all_stages().end());
    StageEntry entry;
    entry.family = "bench";
    entry.name = "sleep";
    entry.inputs = {{.name = "in", .elements = {Element::cf32}}};
    entry.outputs = {{.name = "out"}};
    entry.make = make_stage<SleepStage>;
    entry.host_only = true;
    all.push_back(std::move(entry));
    return all;
  }();
  static const Catalogue all{stages, catalogue().drivers, catalogue().make_publish, catalogue().make_pool};
  return all;
}

void wait_for(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!over && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

int work(const std::string& server, const std::string& lanes) {
  WorkConfig config;
  config.link.servers = {server};
  config.pools = {"bench"};
  config.backend = {"cpu"};
  config.lanes = std::stoll(lanes);
  Worker worker(config, bench_catalogue(), [](const std::string& why) {
    fmt::print(stderr, "pool_bench: {}\n", why);
    std::_Exit(1);
  });
  wait_for(1e9);
  return 0;
}

int home(const std::string& file, double seconds) {
  Problems problems;
  Spec spec = read_spec(load_document(file, problems), bench_catalogue(), problems);
  if (report(problems)) return 1;
  Pipeline pipeline(std::move(spec.pipelines.at(0)), bench_catalogue(), problems);
  if (report(problems)) return 1;
  while (!over && !pipeline.pool_trouble().empty()) wait_for(0.05);
  pipeline.start();
  wait_for(seconds);
  const PipelineStatus running = pipeline.status();
  pipeline.stop();
  while (!pipeline.finished()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  fmt::print("{}\n{}\n", status_json({running}, seconds, false), status_json({pipeline.status()}, seconds, true));
  return 0;
}

}  // namespace
}  // namespace iqd

int main(int argc, char** argv) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { iqd::over = 1; });
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 3 && words[0] == "work") return iqd::work(words[1], words[2]);
    if (words.size() == 3 && words[0] == "home") return iqd::home(words[1], std::stod(words[2]));
  } catch (const std::exception& e) {
    fmt::print(stderr, "pool_bench: {}\n", e.what());
    return 1;
  }
  fmt::print(stderr, "usage: pool_bench work SERVER LANES | pool_bench home FILE SECONDS\n");
  return 2;
}
