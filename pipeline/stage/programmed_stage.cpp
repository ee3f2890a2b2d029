// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/programmed_stage.hpp"

#include "config/reader.hpp"

namespace iqd {

StageEntry configured(const StageEntry& entry, const std::string& keys, Problems& problems) {
  StageEntry own = entry;
  const std::unique_ptr<Stage> stage = entry.make();
  auto* const programmed = dynamic_cast<ProgrammedStage*>(stage.get());
  if (!programmed) return own;
  const std::size_t before = problems.size();
  const Document document = parse_document(keys.empty() ? "{}" : keys, std::string(entry.name), problems);
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
  if (problems.size() == before && programmed->load(section)) own.inputs = programmed->inputs();
  return own;
}

}  // namespace iqd
