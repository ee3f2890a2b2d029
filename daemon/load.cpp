// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "daemon/commands.hpp"
#include "publish/publish_options.hpp"
#include "radio/drivers.hpp"

namespace iqd {

const Catalogue& catalogue() {
  static const Catalogue all{all_stages(), all_drivers(), publish::make_options};
  return all;
}

bool report(const Problems& problems) {
  for (const Problem& p : problems) std::fprintf(stderr, "%s\n", p.text().c_str());
  return !problems.empty();
}

std::unique_ptr<Loaded> load(const std::string& file) {
  auto loaded = std::make_unique<Loaded>();
  const Document document = load_document(file, loaded->problems);
  if (loaded->problems.empty()) loaded->spec = read_spec(document, catalogue(), loaded->problems);
  return loaded;
}

}  // namespace iqd
