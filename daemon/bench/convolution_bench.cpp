// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Batched convolution by every method of a device, in one run on the same samples. Keys: `shape` (may be repeated),
// `method` (only this one), `size` (only this one, or `all`).
#include <fmt/format.h>

#include "base/error.hpp"
#include "daemon/bench/bench_row.hpp"
#include "daemon/bench/convolution_trial.hpp"
#include "pipeline/backend/convolution_choice.hpp"
#include "pipeline/backend/find_backend.hpp"

namespace iqd {
namespace {

/// The thesis's tables: a packet of PAQ, its detection filter, its equalizers, both as one, and one after the other.
std::vector<ConvolutionShape> thesis_shapes() {
  std::vector<ConvolutionShape> shapes;
  for (const char* filter : {"21", "186", "206", "186+21"})
    for (const int batch : {1, 100, 1000, 3104})
      shapes.push_back(convolution_shape(fmt::format("12672x{}x{}", filter, batch)));
  return shapes;
}

struct Wanted {
  std::vector<ConvolutionShape> shapes;
  std::string method;
  std::string size;
};

Wanted wanted(const std::vector<std::string>& config) {
  Wanted w;
  for (const std::string& pair : config) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string key = pair.substr(0, equals);
    const std::string value = equals < pair.size() ? pair.substr(equals + 1) : "";
    if (key == "shape")
      w.shapes.push_back(convolution_shape(value));
    else if (key == "method")
      w.method = value;
    else if (key == "size")
      w.size = value;
    else
      throw UsageError(fmt::format("bench convolution has no key '{}'; use shape, method or size", key));
  }
  if (w.shapes.empty()) w.shapes = thesis_shapes();
  return w;
}

BenchRow row_of(const Backend& backend, const ConvolutionShape& shape, const ConvolutionChoice& choice,
                const ConvolutionTimes& times, double copy_us, bool chosen) {
  BenchRow row{"convolution", text_of(choice), backend.name(), backend.device(), text_of(shape)};
  set_percentiles(row, times.run_us);
  const auto samples = static_cast<double>(shape.batch * shape.signal);
  row.throughput = samples / row.p50_us * 1e6;
  row.unit = "samples/s";
  row.bound = samples / copy_us * 1e6;
  row.bound_by = "memory copy of the same bytes";
  const double in = median(times.in_us), out = median(times.out_us), with = in + row.p50_us + out;
  row.further = {{"in_us", in},
                 {"out_us", out},
                 {"with_transfers_us", with},
                 // As in the thesis: a single packet with its transfers, a batch without.
                 {"thesis_us", shape.batch == 1 ? with : row.p50_us},
                 {"flop", times.flops},
                 {"gflops", times.flops / row.p50_us / 1e3},
                 {"chosen", chosen ? 1 : 0}};
  return row;
}

}  // namespace

std::vector<BenchRow> bench_convolution(const BenchOptions& options) {
  const Wanted w = wanted(options.config);
  const std::unique_ptr<Backend> backend = choose_backend(options.backend).backend;
  const ConvolutionTable& table = convolutions_of(*backend);
  std::vector<BenchRow> rows;
  for (const ConvolutionShape& shape : w.shapes) {
    ConvolutionTrial trial(*backend, shape);
    const double copy_us = trial.copy_us();
    const ConvolutionChoice chosen = choose_convolution(*backend, shape);
    for (const ConvolutionChoice& choice : choices_to_try(table, shape, w.method, !w.size.empty())) {
      if (!w.size.empty() && w.size != "all" && w.size != std::to_string(choice.size)) continue;
      const ConvolutionTimes times = trial.measure(table, choice, options.seconds);
      rows.push_back(row_of(*backend, shape, choice, times, copy_us, choice == chosen));
    }
  }
  if (rows.empty()) throw UsageError("bench convolution: no such method or size for these shapes");
  return rows;
}

}  // namespace iqd
