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

/// y(n) = f(x0(n), x1(n), parameters…): a function of the user's, in CUDA C++, compiled when the pipeline starts.
///
/// x0, x1  [row][n…]  one or two inputs, of the types that `in` names; the same shape
/// y       [row][n…]  of the type `out`
///
/// With `past` or `future` f gets pointers instead of values: x[-past] … x[future] are valid, and 0 where the stream
/// has none. What f returns goes on as it is, NaN too. f has to be a function of its arguments alone: it is called for
/// any element by any thread, now and then for one whose result nobody sees. Keeps nothing between calls.
namespace iqd::kernel {

inline constexpr std::int64_t kMostHalo = 2048;  // past and future together: a GPU's group has it in shared memory
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

/// A value for a parameter of the function, as each type takes it. The generated code declares the same.
struct Parameter {
  double number = 0;
  float re = 0;
  float im = 0;
  std::int64_t whole = 0;
};

/// What is compiled.
struct Program {
  std::string name;    // of the file, for messages
  std::string folder;  // where its includes are looked for
  std::string text;
  bool is_code = false;  // the text stands in the pipeline's file
  int first_line = 1;    // of the text, in that file
  std::string included;  // the texts that it includes from files beside it
  std::string function;
  int function_line = 1;  // in that file
  std::vector<Element> in;
  Element out = Element::cf32;
  std::int64_t past = 0;
  std::int64_t future = 0;
  std::vector<std::string> types;   // of the parameters
  std::vector<Parameter> values{};  // as many
  std::string label{};              // for who looks for the culprit: `mine.cu: f of stages[0].kernel`

  bool element_wise() const noexcept { return past == 0 && future == 0; }
};

/// The type of C++ that stands for an element in the user's text; empty where there is none.
std::string_view type_name(Element element) noexcept;
/// `__device__ float2 f(float2 x, float k)`
std::string declaration_of(const Program& program, const std::vector<std::string>& names);

/// Reads and checks what needs no compiler; a program that has its text already keeps it. False, and problems, where
/// something is wrong.
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
  /// Throws SetupError, with what the compiler says, where the text is wrong.
  std::unique_ptr<StageRun> (*make)(const DeviceProgram& program);
  /// Compiles alone, for no device in particular. Empty where that went well, or there is no compiler.
  std::string (*check)(const DeviceProgram& program);
};

}  // namespace iqd::kernel
