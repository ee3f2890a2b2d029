// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Training and detection alone, on a GPU: apsm_bench [--antennas M] [--users U] [--variant V] …
//
// A frame's model is trained once. Then each half is captured and replayed alone, and detection also with the copies of
// a call, data in and symbols out, in pinned memory. One JSON object per line, times in microseconds.
#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "daemon/command/command_line.hpp"
#include "gpu/device_array.hpp"
#include "pipeline/stages/noma/multiuser/detect.cuh"
#include "pipeline/stages/noma/multiuser/train.cuh"

namespace iqd::noma {
namespace {

constexpr int kRuns = 500;
constexpr int kInRow = 20;  // repetitions of a kernel, so that the launch does not count

struct Options {
  int antennas = 16;
  int users = 6;
  std::int64_t pilots = 685;
  std::int64_t data = 3840;
  int window = 20;
  int passes = 1;
  std::string variant = "own";
};

Method method_of(const Options& o) {
  Method m;
  m.antennas = m.used_count = o.antennas;
  m.users = o.users;
  m.pilots = m.dictionary = m.kernels = o.pilots;
  m.data = o.data;
  m.window = o.window;
  m.passes = o.passes;
  m.exponent = static_cast<float>(1 / (2 * 0.05 * 2 * o.antennas));
  m.weight.fill(1);
  for (int k = 0; k < kMostWindow; ++k) m.share[static_cast<std::size_t>(k)] = 0.5f / static_cast<float>(k + 1);
  std::fill_n(m.used.begin(), o.antennas, true);
  return m;
}

template <class T> struct Array {
  explicit Array(std::int64_t n) : bytes(static_cast<std::size_t>(n) * sizeof(T)) {
    gpu::check(cudaMalloc(reinterpret_cast<void**>(&data), std::max<std::size_t>(bytes, 1)), "memory");
    gpu::check(cudaMemset(data, 0, bytes), "clearing memory");
  }
  ~Array() { cudaFree(data); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  void fill(const std::vector<T>& values) {
    gpu::check(cudaMemcpy(data, values.data(), bytes, cudaMemcpyHostToDevice), "copying");
  }
  T* data = nullptr;
  std::size_t bytes;
};

/// QPSK of all users over independent channels, at 20 dB.
struct Frame {
  explicit Frame(const Method& m) : generator(1), h(static_cast<std::size_t>(m.antennas * m.users)) {
    for (cf32& x : h) x = draw();
    fill(m, m.pilots, train_rx, train_tx);
    std::vector<cf32> sent;
    fill(m, m.data, rx, sent);
  }
  cf32 draw() { return {normal(generator), normal(generator)}; }
  void fill(const Method& m, std::int64_t count, std::vector<cf32>& received, std::vector<cf32>& sent) {
    for (std::int64_t t = 0; t < count; ++t) {
      for (int u = 0; u < m.users; ++u) {
        const auto axis = [&] { return generator() % 2 ? std::sqrt(0.5f) : -std::sqrt(0.5f); };
        const float re = axis();
        sent.emplace_back(re, axis());
      }
      const cf32* const b = sent.data() + sent.size() - static_cast<std::size_t>(m.users);
      for (int a = 0; a < m.antennas; ++a) {
        cf32 y = 0.1f * draw();
        for (int u = 0; u < m.users; ++u) y += h[static_cast<std::size_t>(a * m.users + u)] * b[u];
        received.push_back(y);
      }
    }
  }
  std::mt19937 generator;
  std::normal_distribution<float> normal{0, std::sqrt(0.5f)};
  std::vector<cf32> h, train_rx, train_tx, rx;
};

double percentile(std::vector<double>& times, double share) {
  std::sort(times.begin(), times.end());
  return times[std::min(times.size() - 1, static_cast<std::size_t>(share * static_cast<double>(times.size())))];
}

/// Captures what `work` enqueues on a stream, and replays it.
class Replay {
 public:
  explicit Replay(const std::function<void(cudaStream_t)>& work) {
    gpu::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    gpu::check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capturing");
    work(stream_);
    cudaGraph_t graph = nullptr;
    gpu::check(cudaStreamEndCapture(stream_, &graph), "capturing");
    gpu::check(cudaGraphInstantiate(&graph_, graph, 0), "a graph");
    cudaGraphDestroy(graph);
  }
  ~Replay() {
    cudaGraphExecDestroy(graph_);
    cudaStreamDestroy(stream_);
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  /// Times by the device's clock, and by the host's clock until the results have arrived.
  std::pair<std::vector<double>, std::vector<double>> run() {
    cudaEvent_t from = nullptr, to = nullptr;
    gpu::check(cudaEventCreate(&from), "an event");
    gpu::check(cudaEventCreate(&to), "an event");
    std::vector<double> device, host;
    for (int i = -kInRow; i < kRuns; ++i) {
      gpu::check(cudaEventRecord(from, stream_), "an event");
      gpu::check(cudaGraphLaunch(graph_, stream_), "launching");
      gpu::check(cudaEventRecord(to, stream_), "an event");
      gpu::check(cudaStreamSynchronize(stream_), "running");
      float ms = 0;
      gpu::check(cudaEventElapsedTime(&ms, from, to), "an event");
      const auto start = std::chrono::steady_clock::now();
      gpu::check(cudaGraphLaunch(graph_, stream_), "launching");
      gpu::check(cudaStreamSynchronize(stream_), "running");
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
      if (i >= 0) device.push_back(1e3 * static_cast<double>(ms)), host.push_back(took.count());
    }
    cudaEventDestroy(from);
    cudaEventDestroy(to);
    return {device, host};
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

void tell(const Options& o, const char* what, std::vector<double> times, int in_row) {
  for (double& t : times) t /= in_row;
  const nlohmann::json row{{"what", what},
                           {"variant", o.variant},
                           {"antennas", o.antennas},
                           {"users", o.users},
                           {"pilots", o.pilots},
                           {"data", o.data},
                           {"window", o.window},
                           {"passes", o.passes},
                           {"p50_us", percentile(times, 0.5)},
                           {"p99_us", percentile(times, 0.99)}};
  std::printf("%s\n", row.dump().c_str());
}

std::vector<std::string> scheme_names() {
  const auto names = enum_names(Scheme{});
  return {names.begin(), names.end()};
}

Scheme scheme_named(const std::string& name) {
  const auto names = enum_names(Scheme{});
  return static_cast<Scheme>(std::find(names.begin(), names.end(), name) - names.begin());
}

void measure(const Options& o) {
  const Method method = method_of(o);
  const Frame frame(method);
  const Train train(method);
  const Detect detect(method, scheme_named(o.variant));
  Array<cf32> train_rx(std::ssize(frame.train_rx)), train_tx(std::ssize(frame.train_tx)), rx(std::ssize(frame.rx)),
      symbols(o.users * o.data);
  train_rx.fill(frame.train_rx);
  train_tx.fill(frame.train_tx);
  rx.fill(frame.rx);
  Array<std::int32_t> counts(kOutputs + 1);
  const std::int32_t one = 1;
  gpu::check(cudaMemcpy(counts.data, &one, sizeof one, cudaMemcpyHostToDevice), "copying");
  Array<std::byte> scratch(static_cast<std::int64_t>(train.scratch_bytes())),
      sums(static_cast<std::int64_t>(detect.scratch_bytes()));
  Job job{};
  job.train_rx = train_rx.data;
  job.train_tx = train_tx.data;
  job.rx = rx.data;
  job.symbols = symbols.data;
  job.frames = counts.data;
  for (std::int32_t*& count : job.counts) count = counts.data + 1;
  gpu::settle();

  Train::Block block(train, job, 1, true, nullptr, scratch.data);
  const auto train_once = [&](cudaStream_t stream) {
    block.begin(stream);
    block.enqueue(0, stream);
  };
  tell(o, "train", Replay(train_once).run().first, 1);
  Job trained = job;
  trained.frames = block.frames();
  const auto detect_once = [&](cudaStream_t stream) {
    detect.enqueue(block.model(), trained, 0, block.erased(), sums.data, stream);
  };
  tell(o, "detect",
       Replay([&](cudaStream_t stream) {
         for (int i = 0; i < kInRow; ++i) detect_once(stream);
       })
           .run()
           .first,
       kInRow);

  void *in = nullptr, *out = nullptr;
  gpu::check(cudaMallocHost(&in, rx.bytes), "pinned memory");
  gpu::check(cudaMallocHost(&out, symbols.bytes), "pinned memory");
  std::copy(frame.rx.begin(), frame.rx.end(), static_cast<cf32*>(in));
  tell(o, "detect, host to host",
       Replay([&](cudaStream_t stream) {
         gpu::check(cudaMemcpyAsync(rx.data, in, rx.bytes, cudaMemcpyHostToDevice, stream), "copying");
         detect_once(stream);
         gpu::check(cudaMemcpyAsync(out, symbols.data, symbols.bytes, cudaMemcpyDeviceToHost, stream), "copying");
       })
           .run()
           .second,
       1);
  cudaFreeHost(in);
  cudaFreeHost(out);
}

}  // namespace
}  // namespace iqd::noma

int main(int argc, char** argv) {
  iqd::noma::Options o;
  iqd::CommandLine line("apsm_bench", "times training and detection of several users alone, on a GPU");
  line.options()
      .option("--antennas", &o.antennas, "number of receive antennas", {.range = {{1, iqd::noma::kMostAntennas}}})
      .option("--users", &o.users, "number of transmitting users", {.range = {{1, iqd::noma::kMostUsers}}})
      .option("--pilots", &o.pilots, "number of training vectors", {.range = {{1, 1 << 14}}})
      .option("--data", &o.data, "number of vectors to detect", {.range = {{1, 1 << 24}}})
      .option("--window", &o.window, "pilots projected on at once", {.range = {{1, iqd::noma::kMostWindow}}})
      .option("--passes", &o.passes, "number of passes over the pilots", {.range = {{1, 100}}})
      .option("--variant", &o.variant, "how the detector's kernels share the work",
              {.one_of = iqd::noma::scheme_names()});
  if (const auto exit = line.parse(argc, argv)) return *exit;
  try {
    iqd::noma::measure(o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "apsm_bench: %s\n", e.what());
    return 1;
  }
  return 0;
}
