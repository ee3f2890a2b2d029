// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/convolution.hpp"

#include "gpu/convolution_methods.hpp"

namespace iqd::gpu {
namespace {

constexpr std::int64_t kTiledThreads = 128;

struct Method {
  const char* name;
  std::vector<std::int64_t> (*sizes)(const ConvolutionShape&);
  std::unique_ptr<Convolver> (*make)(const ConvolutionShape&, std::int64_t size);
};
constexpr Method kMethods[] = {
    {"tiled", tiled_sizes, make_tiled},    {"overlap", overlap_sizes, make_overlap},
    {"cufft", cufft_sizes, make_cufft},    {"global", global_sizes, make_global},
    {"shared", shared_sizes, make_shared}, {"cufft_padded", cufft_sizes, make_cufft_padded},
};

std::vector<ConvolutionChoice> choices(const ConvolutionShape& shape) {
  std::vector<ConvolutionChoice> all;
  for (const Method& method : kMethods)
    for (const std::int64_t size : method.sizes(shape)) all.push_back({method.name, size});
  return all;
}

/// Up to this many taps the direct method is expected to be bound by memory, or nearly so.
constexpr std::int64_t kDirectUpTo = 40;

ConvolutionChoice rule(const ConvolutionShape& shape) {
  if (const auto sizes = overlap_sizes(shape); !sizes.empty() && shape.all_taps() > kDirectUpTo)
    return {"overlap", sizes.front()};
  if (const auto sizes = cufft_sizes(shape); !sizes.empty() && shape.all_taps() > kDirectUpTo)
    return {"cufft", sizes.front()};
  return {"tiled", kTiledThreads};
}

std::unique_ptr<Convolver> make(const ConvolutionShape& shape, const ConvolutionChoice& choice) {
  check_choice(choices(shape), shape, choice);
  for (const Method& method : kMethods)
    if (choice.method == method.name) return method.make(shape, choice.size);
  return nullptr;
}

}  // namespace

const ConvolutionTable& convolution_table() {
  static constexpr ConvolutionTable table{choices, rule, make};
  return table;
}

}  // namespace iqd::gpu
