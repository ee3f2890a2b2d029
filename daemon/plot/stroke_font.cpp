// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/stroke_font.hpp"

#include <array>
#include <utility>

namespace iqd::plot {
namespace {

// The strokes of the characters from ! to ~, separated by spaces: pairs of digits, column 0 to 4 and row 0 to 8. Row 6 is
// the base line.
constexpr std::array<const char*, 94> kGlyphs{
    "2024 2626",                         // !
    "1012 3032",                         // "
    "1016 3036 0242 0444",               // #
    "41301001021334 3445361605 2026",    // $
    "0640 1111 3535",                    // %
    "46121020311405163644",              // &
    "2022",                              // '
    "30121436",                          // (
    "10323416",                          // )
    "2125 0244 4204",                    // *
    "2125 0343",                         // +
    "2617",                              // ,
    "0343",                              // -
    "2626",                              // .
    "4006",                              // /
    "103041453616050110",                // 0
    "112026 1636",                       // 1
    "01103041420646",                    // 2
    "01103041423323 334445361605",       // 3
    "300444 3036",                       // 4
    "4000031232434536 361605",           // 5
    "413010010516364544331304",          // 6
    "004016",                            // 7
    "13020110304142331304051636454433",  // 8
    "051636454130100102133342",          // 9
    "2323 2626",                         // :
    "2323 2617",                         // ;
    "400346",                            // <
    "0242 0444",                         // =
    "004306",                            // >
    "011030414224 2626",                 // ?
    "453616050110304144342334",          // @
    "062046 1434",                       // A
    "003041423303 334445360600",         // B
    "4130100105163645",                  // C
    "00304145360600",                    // D
    "40000646 0333",                     // E
    "400006 0333",                       // F
    "41301001051636454323",              // G
    "0006 4046 0343",                    // H
    "1030 2026 1636",                    // I
    "4045361605",                        // J
    "0006 400346",                       // K
    "000646",                            // L
    "0600234046",                        // M
    "06004640",                          // N
    "103041453616050110",                // O
    "06003041423303",                    // P
    "103041453616050110 2446",           // Q
    "06003041423303 2346",               // R
    "413010010213334445361605",          // S
    "0040 2026",                         // T
    "000516364540",                      // U
    "002640",                            // V
    "0016233640",                        // W
    "0046 4006",                         // X
    "002340 2326",                       // Y
    "00400646",                          // Z
    "30101636",                          // [
    "0046",                              // backslash
    "10303616",                          // ]
    "122032",                            // ^
    "0747",                              // _
    "1021",                              // `
    "12324346 441405163645",             // a
    "0006 0312324345361605",             // b
    "4332120305163645",                  // c
    "4046 4332120305163645",             // d
    "04444332120305163645",              // e
    "40302126 1232",                     // f
    "4247381807 4332120305163645",       // g
    "0006 0312324346",                   // h
    "2226 2020",                         // i
    "32372818 3030",                     // j
    "0006 320436",                       // k
    "102025 2536",                       // l
    "0206 03122326 23324346",            // m
    "0206 0312324346",                   // n
    "123243453616050312",                // o
    "0208 0312324345361605",             // p
    "4248 4332120305163645",             // q
    "0206 03123243",                     // r
    "4212031434453606",                  // s
    "10152636 0232",                     // t
    "0205163645 4246",                   // u
    "022642",                            // v
    "0216243642",                        // w
    "0246 4206",                         // x
    "0226 4218",                         // y
    "02420646",                          // z
    "40203224 2446",                     // {
    "2026",                              // |
    "00202224 2406",                     // }
    "04133342",                          // ~
};
constexpr double kRows = 6;         // the height of a capital letter
constexpr double kAdvance = 5.6;    // to the next character
constexpr double kNarrower = 0.92;  // so that columns are a little closer than rows

void add_strokes(const char* glyph, double left, std::vector<std::vector<Place2>>& all) {
  std::vector<Place2> stroke;
  for (const char* at = glyph;; at += 2) {
    if (*at == ' ' || *at == '\0') {
      all.push_back(std::move(stroke));
      stroke.clear();
      if (*at == '\0') return;
      ++at;
    }
    if (at[0] == '\0' || at[1] == '\0') return;
    stroke.push_back({(left + (at[0] - '0')) * kNarrower / kRows, (at[1] - '0') / kRows - 1});
  }
}

/// Characters of UTF-8 are one each.
std::string plain(std::string_view text) {
  std::string s;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      s += byte >= 0x20 && byte < 0x7f ? c : '?';
    else if (byte >= 0xc0)
      s += '?';
  }
  return s;
}

}  // namespace

std::vector<std::vector<Place2>> strokes_of(std::string_view text) {
  std::vector<std::vector<Place2>> all;
  double left = 0;
  for (const char c : plain(text)) {
    if (c != ' ') add_strokes(kGlyphs[static_cast<std::size_t>(c - '!')], left, all);
    left += kAdvance;
  }
  return all;
}

double stroke_width_of(std::string_view text) {
  const std::size_t characters = plain(text).size();
  return characters == 0 ? 0 : (static_cast<double>(characters) * kAdvance - (kAdvance - 4)) * kNarrower / kRows;
}

}  // namespace iqd::plot
