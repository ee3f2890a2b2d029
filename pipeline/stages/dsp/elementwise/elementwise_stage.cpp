// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/dsp/elementwise/elementwise_stage.hpp"

namespace iqd::elementwise {

namespace parameters {
#define PARAMETER(kind, key, preset, ...) visitor.field(#key, p.key, {__VA_ARGS__});
#define OP(name, inputs, input, output, list, ...)                                              \
  void read_fields([[maybe_unused]] name<Written>& p, [[maybe_unused]] FieldVisitor& visitor) { \
    list                                                                                        \
  }
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef PARAMETER
#undef OP
#define PARAMETER(kind, key, ...) p.key = elementwise::rounded(written.key);
#define OP(name, inputs, input, output, list, ...)                       \
  name<Rounded> rounded([[maybe_unused]] const name<Written>& written) { \
    name<Rounded> p;                                                     \
    list return p;                                                       \
  }
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef PARAMETER
#undef OP
}  // namespace parameters

namespace names {
#define PARAMETER(...)
#define OP(name, ...) constexpr std::string_view name = #name;
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef OP
}  // namespace names

std::vector<StageEntry> entries() {
  return {
#define OP(name, inputs, input, output, list, expression, sample, help) entry_of<op::name, names::name>(sample, help),
#include "pipeline/stages/dsp/elementwise/ops.def"
#undef PARAMETER
#undef OP
  };
}

}  // namespace iqd::elementwise
