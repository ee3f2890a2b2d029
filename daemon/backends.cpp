// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/backends.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "pipeline/cpu_backend.hpp"

namespace iqd {
namespace {

FoundBackend look_at(const Backend& backend) {
  return {backend.name(), backend.device(), backend.memory(), {}};
}

void add_cuda(std::vector<FoundBackend>& found) {
  BackendChoice first = choose_backend("auto");
  if (first.backend->kind() != BackendKind::cuda) {
    found.push_back({"cuda", {}, {}, first.reason});
    return;
  }
  found.push_back(look_at(*first.backend));
  try {
    for (int device = 1;; ++device) found.push_back(look_at(*choose_backend(fmt::format("cuda:{}", device)).backend));
  } catch (const SetupError&) {
    // That was one more than there are.
  }
}

}  // namespace

std::vector<FoundBackend> find_backends() {
  std::vector<FoundBackend> found{look_at(*make_cpu_backend())};
  try {
    add_cuda(found);
  } catch (const std::exception& e) {
    found.push_back({"cuda", {}, {}, e.what()});
  }
  return found;
}

}  // namespace iqd
