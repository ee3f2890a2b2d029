// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"

/// y(n) = f(x0(n), x1(n), parameters…): the user's function in CUDA C++, compiled when the pipeline starts.
///
/// x0, x1  [row][n…]  one or two inputs, of the types that `in` names; the same shape
/// y       [row][n…]  of the type `out`
///
/// With `past` or `future` f gets pointers instead of values: x[-past] … x[future] are valid, and 0 where the stream
/// has no sample. y is exactly what f returns, NaN included. f must depend on its arguments alone: any thread may call
/// it for any element, sometimes for one whose result is discarded. Keeps nothing between calls.
namespace iqd::kernel {

inline constexpr std::int64_t kMostHalo = 2048;  // past and future together, in a GPU's shared memory
inline constexpr std::size_t kMostParameters = 16;

struct Config {
  std::string file;
  std::string code;
  std::string function = "f";
  std::vector<std::string> in{"cf32"};
  std::string out = "cf32";
  std::int64_t past = 0;
  std::int64_t future = 0;
  StringMap params;

  void fields(FieldVisitor& visitor);
};

/// The value of a parameter, in a form for each type. The generated code declares the same struct.
struct Parameter {
  double number = 0;
  float re = 0;
  float im = 0;
  std::int64_t whole = 0;
};

/// What is compiled.
struct Program {
  std::string name;    // of the file, for messages
  std::string folder;  // where its includes are searched
  std::string text;
  bool is_code = false;  // the text is in the pipeline's file
  int first_line = 1;    // of the text, in that file
  std::string included;  // the texts that it includes from files in its folder
  std::string function;
  int function_line = 1;  // in that file
  std::vector<Element> in;
  Element out = Element::cf32;
  std::int64_t past = 0;
  std::int64_t future = 0;
  std::vector<std::string> types;   // of the parameters
  std::vector<Parameter> values{};  // as many
  std::string label{};              // names the code if it crashes: `mine.cu: f of stages[0].kernel`

  bool element_wise() const noexcept { return past == 0 && future == 0; }
};

/// Reads the program and checks what needs no compiler. A program that already has its text keeps it. On a mistake it
/// adds problems and returns false.
bool read_program(const Config& config, const Section& section, Program& program);

struct DeviceProgram {
  std::string text;
  std::string name;
  std::string folder;
  std::vector<Element> in;
  bool element_wise = true;
  bool varies = false;
  std::vector<Parameter> values{};
};

/// The CUDA half.
struct CudaHalf {
  /// Throws SetupError, with the compiler's output, if the text is wrong.
  std::unique_ptr<StageRun> (*make)(const DeviceProgram& program);
  /// Only compiles, for no particular device. Returns the compiler's output; empty on success, or if there is no
  /// compiler.
  std::string (*check)(const DeviceProgram& program);
};

}  // namespace iqd::kernel
