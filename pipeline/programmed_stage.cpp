// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/programmed_stage.hpp"

#include "config/reader.hpp"

namespace iqd {

StageEntry configured(const StageEntry& entry, const std::string& keys) {
  StageEntry own = entry;
  const std::unique_ptr<Stage> stage = entry.make();
  auto* const programmed = dynamic_cast<ProgrammedStage*>(stage.get());
  if (!programmed) return own;
  Problems known;
  const Document document = parse_document(keys.empty() ? "{}" : keys, std::string(entry.name), known);
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { stage->fields(v); }, known);
  if (known.empty() && programmed->load(section)) own.inputs = programmed->inputs();
  return own;
}

}  // namespace iqd
