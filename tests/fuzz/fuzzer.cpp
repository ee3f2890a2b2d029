// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The fuzzers as one program, which selects the target by its name.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/log.hpp"
#include "tests/fuzz/target.hpp"

namespace {

const iqd::fuzz::Target* target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc > 1 && std::string_view((*argv)[1]) == "--words") {
    iqd::fuzz::print_words();
    std::exit(0);
  }
  target = iqd::fuzz::find_target(std::filesystem::path((*argv)[0]).filename().string());
  if (!target) {
    std::fputs("call this by the name of a fuzzer:", stderr);
    for (const iqd::fuzz::Target& t : iqd::fuzz::targets()) std::fprintf(stderr, " %s", std::string(t.name).c_str());
    std::fputs("\n", stderr);
    std::exit(2);
  }
  ::setenv("CXX", "none", 1);                // so that kernels start no compiler
  ::setenv("IQD_PYTHON_WORKER", "none", 1);  // nor Python functions a process
  iqd::log::set_level(iqd::log::Level::none);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}

#ifndef IQD_HAS_FUZZER
/// Runs the given inputs only.
int main(int argc, char** argv) {
  LLVMFuzzerInitialize(&argc, &argv);
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
}
#endif
