// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/python/worker_script.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace iqd::python {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

/// The program or the library that this code is part of.
fs::path own_object() {
  Dl_info info{};
  std::error_code error;
  const bool known = ::dladdr(reinterpret_cast<const void*>(&find_worker_script), &info) != 0 && info.dli_fname;
  const fs::path path = known ? info.dli_fname : "";
  if (path.extension() == ".so") return fs::canonical(path, error);
  return fs::read_symlink("/proc/self/exe", error);
}

}  // namespace

std::string find_worker_script() {
  constexpr const char* kScript = "_worker.py";
  if (const char* named = std::getenv("IQD_PYTHON_WORKER")) return ::access(named, R_OK) == 0 ? named : "";
  const fs::path folder = own_object().parent_path();
  // Beside a module of the package, in a build tree, below the prefix.
  for (const char* way : {".", "python/iqd", "../python/iqd", "../../python/iqd", "../lib/python3/dist-packages/iqd"}) {
    const fs::path script = (folder / way / kScript).lexically_normal();
    if (::access(script.c_str(), R_OK) == 0) return script.string();
  }
  return {};
}

std::string find_interpreter(const std::string& name) {
  if (name.find('/') != name.npos) return is_program(name) ? fs::absolute(name).lexically_normal().string() : "";
  const char* path = std::getenv("PATH");
  std::stringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name; is_program(candidate))
      return candidate.string();
  return {};
}

}  // namespace iqd::python
