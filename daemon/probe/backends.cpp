// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/backends.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "daemon/probe/device_facts.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/backend/find_backend.hpp"

namespace iqd {
namespace {

FoundBackend look_at(Backend& backend) {
  return {backend.name(), backend.device(), backend.memory(), {}, backend.details(), facts_of(backend)};
}

void add_cuda(std::vector<FoundBackend>& found) {
  std::string why;
  const int devices = count_cuda_devices(why);
  if (devices == 0) found.push_back({"cuda", {}, {}, why, {}, {}});
  for (int device = 0; device < devices; ++device) {
    const std::string name = fmt::format("cuda:{}", device);
    try {
      found.push_back(look_at(*choose_backend(name).backend));
    } catch (const SetupError& e) {
      found.push_back({name, {}, {}, e.what(), {}, {}});  // e.g. busy; others may still be available
    }
  }
}

}  // namespace

std::vector<FoundBackend> find_backends() {
  std::vector<FoundBackend> found{look_at(*make_cpu_backend())};
  add_cuda(found);
  return found;
}

}  // namespace iqd
