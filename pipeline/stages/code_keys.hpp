// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "config/fields.hpp"
#include "signal/codes/word_choice.hpp"
#include "signal/formats/word_frame.hpp"

/// The keys of stages that encode or decode words.
namespace iqd {

inline void code_fields(FieldVisitor& v, WordChoice& choice) {
  v.field("code", choice.code,
          {.help = "error-correcting code: 80216e_2304_1_2, irig_1024_1_2 … irig_4096_4_5, nr_bg1_z2 … nr_bg1_z384 or "
                   "nr_bg2_z2 … nr_bg2_z384"});
  v.group("nr", choice.is_nr, {.help = "a word of NR by its lengths, instead of `code`"},
          [&choice](FieldVisitor& inner) {
            inner.field("k", choice.nr.k,
                        {.help = "information bits of a word, with those of the CRC",
                         .low = 1,
                         .high = static_cast<double>(WordChoice::kMostSent),
                         .required = true});
            inner.field("e", choice.nr.e,
                        {.help = "bits of a word that are sent",
                         .low = 2,
                         .high = static_cast<double>(WordChoice::kMostSent),
                         .required = true});
            inner.field("graph", choice.nr.graph, {.help = "base graph; auto: by k and k / e, as TS 38.212 says"});
            inner.field("rv", choice.nr.rv,
                        {.help = "redundancy version: which bits are sent first",
                         .low = 0,
                         .high = static_cast<double>(WordChoice::kMostRv)});
            inner.field("bit_interleaver", choice.nr.bit_interleaver,
                        {.help = "bits of a point, over whose places a word is spread"});
          });
  v.field("crc", choice.crc, {.help = "CRC of TS 38.212 at the end of a word's information bits"});
}

inline void frame_fields(FieldVisitor& v, FrameChoice& choice) {
  v.field("asm", choice.marker,
          {.help = "marker before each word (ASM): none, irig: that of IRIG 106 for the code, or its bits, hexadecimal "
                   "or like 0b1101"});
  v.field("randomize", choice.randomize,
          {.help = "ccsds: a pseudo-random sequence is added to each word, as in IRIG 106 and CCSDS 131.0-B"});
}

/// Reports what is wrong to the section; true if nothing is.
inline bool check_code(const WordChoice& choice, bool may_be_none, const Section& section) {
  if (choice.is_nr && section.has("code")) {
    section.problem("code", "`nr` chooses the code; remove one of both");
    return false;
  }
  const auto fault = choice.fault(may_be_none);
  if (fault) section.problem(fault->key, fault->what);
  return !fault;
}
inline bool check_frame(const FrameChoice& choice, const LdpcCode& code, const Section& section) {
  const auto fault = choice.fault(code);
  if (fault) section.problem("asm", *fault);
  return !fault;
}

}  // namespace iqd
