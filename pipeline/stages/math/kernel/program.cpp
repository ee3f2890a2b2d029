// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stages/math/kernel/element_types.hpp"
#include "pipeline/stages/math/kernel/function.hpp"
#include "pipeline/stages/math/kernel/kernel.hpp"
#include "pipeline/stages/math/kernel/program_text.hpp"

namespace iqd::kernel {
namespace {

Element element_of(std::string_view key, const std::string& name, const Section& section) {
  const auto element = element_named(name);
  if (element && !type_name(*element).empty()) return *element;
  section.problem(key, fmt::format("'{}' is not one of cf32 sc16 f32 i32 i16 i8 u8", name));
  return Element::cf32;
}

void read_elements(const Config& config, const Section& section, Program& program) {
  program.in.clear();
  if (config.in.empty() || config.in.size() > 2)
    section.problem("in", fmt::format("names {} inputs; a kernel has one or two", config.in.size()));
  else
    for (const std::string& name : config.in) program.in.push_back(element_of("in", name, section));
  program.out = element_of("out", config.out, section);
}

void read_halo(const Config& config, const Section& section, Program& program) {
  program.past = config.past;
  program.future = config.future;
  if (config.past + config.future > kMostHalo)
    section.problem(config.past > 0 ? "past" : "future",
                    fmt::format("past + future is {}; the maximum is {} (use `fir` for a long filter)",
                                config.past + config.future, kMostHalo));
}

}  // namespace

bool read_program(const Config& config, const Section& section, Program& program) {
  const std::size_t already = section.problems().size();
  read_elements(config, section, program);
  read_halo(config, section, program);
  if (section.problems().size() != already) return false;
  if (program.text.empty() && !load_text(config, section, program)) return false;
  read_function(config, section, program);
  return section.problems().size() == already;
}

}  // namespace iqd::kernel
