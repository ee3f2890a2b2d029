// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/code_arguments.hpp"

#include <algorithm>
#include <string>

#include "signal/codes/word_choice.hpp"

namespace iqd::sim {

std::optional<WordCode> word_code(const Arguments& args) {
  WordChoice choice{.code = args.text("code", "none")};
  choice.is_nr = args.number("nr_k") || args.number("nr_e");
  if (choice.is_nr) {
    if (choice.code != "none") refuse("code", choice.code, "nr_k and nr_e choose the code; remove one of both");
    choice.nr = {.k = args.count("nr_k", 0, 1, WordChoice::kMostSent),
                 .e = args.count("nr_e", 0, 1, WordChoice::kMostSent),
                 .rv = args.count("nr_rv", 0, 0, WordChoice::kMostRv),
                 .graph = static_cast<NrGraph>(args.choice("nr_graph", "auto", enum_names(NrGraph{})))};
  }
  choice.crc = static_cast<WordCrc>(args.choice("crc", "none", enum_names(WordCrc{})));
  if (const auto fault = choice.fault(true)) {
    std::string key = fault->key;
    std::ranges::replace(key, '.', '_');
    refuse(key, args.text(key, "none"), fault->what);
  }
  return choice.words();
}

WordFrame word_frame(const Arguments& args, const LdpcCode& code) {
  const FrameChoice choice{
      .marker = args.text("asm", "none"),
      .randomize = static_cast<Randomize>(args.choice("randomize", "off", enum_names(Randomize{})))};
  if (const auto fault = choice.fault(code)) refuse("asm", choice.marker, *fault);
  return choice.frame(code);
}

}  // namespace iqd::sim
