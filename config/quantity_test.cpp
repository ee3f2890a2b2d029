// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/quantity.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "config/test_options.hpp"

namespace iqd {
namespace {

using Complex = std::complex<double>;

double quantity(std::string_view text, Unit unit) {
  std::string why;
  const auto value = parse_quantity(text, unit, why);
  EXPECT_TRUE(value.has_value()) << text << ": " << why;
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

std::string refusal(std::string_view text, Unit unit) {
  std::string why;
  EXPECT_FALSE(parse_quantity(text, unit, why).has_value()) << text;
  return why;
}

TEST(Quantity, DecimalPrefixesAreExact) {
  EXPECT_EQ(quantity("20.625 MS/s", Unit::rate), 20625000.0);
  EXPECT_EQ(quantity("1.4515 GHz", Unit::hertz), 1451500000.0);
  EXPECT_EQ(quantity("1.4515e3MHz", Unit::hertz), 1451500000.0);
  EXPECT_EQ(quantity("250 us", Unit::seconds), 250e-6);
  EXPECT_EQ(quantity("0.3 ms", Unit::seconds), 0.3e-3);
  EXPECT_EQ(quantity("7 µs", Unit::seconds), 7e-6);
  EXPECT_EQ(quantity("2 min", Unit::seconds), 120.0);
  EXPECT_EQ(quantity("-30 dB", Unit::decibel), -30.0);
  EXPECT_EQ(quantity("64 MiB", Unit::bytes), 67108864.0);
  EXPECT_EQ(quantity("1.5KiB", Unit::bytes), 1536.0);
  EXPECT_EQ(quantity("64 MB", Unit::bytes), 64e6);
  EXPECT_EQ(quantity("2.4 GHz", Unit::rate), 2.4e9);  // a common way to write sample rates
}

TEST(Quantity, BareNumbersAreInTheBaseUnit) {
  EXPECT_EQ(quantity("20e6", Unit::rate), 20e6);
  EXPECT_EQ(quantity("+.5", Unit::none), 0.5);
  EXPECT_EQ(quantity("5.", Unit::seconds), 5.0);
  EXPECT_EQ(quantity(" 0x10 ", Unit::none), 16.0);
  EXPECT_EQ(quantity("-0x10", Unit::none), -16.0);
  EXPECT_EQ(quantity("0b101", Unit::none), 5.0);
}

TEST(Quantity, SaysWhatFits) {
  EXPECT_EQ(refusal("5 Hz", Unit::seconds), "unit 'Hz' does not fit; use s, ms, us or ns");
  EXPECT_EQ(refusal("5 mhz", Unit::hertz), "unit 'mhz' does not fit; use Hz, kHz, MHz or GHz");
  EXPECT_EQ(refusal("5 m", Unit::rate), "unit 'm' does not fit; use S/s, kS/s, MS/s or GS/s");
  EXPECT_EQ(refusal("5 dBm", Unit::decibel), "unit 'dBm' does not fit; use dB");
  EXPECT_EQ(refusal("5 Mb", Unit::bytes), "unit 'Mb' does not fit; use B, KiB, MiB, GiB, kB, MB or GB");
  EXPECT_EQ(refusal("5 Hz", Unit::none), "unit 'Hz' does not fit; this is a plain number");
  EXPECT_EQ(refusal("fast", Unit::rate), "'fast' is not a number");
  EXPECT_EQ(refusal("", Unit::rate), "'' is not a number");
  EXPECT_EQ(refusal("1.2.3", Unit::none), "unit '.3' does not fit; this is a plain number");
}

TEST(Quantity, RefusesWhatIsNotFinite) {
  for (const char* text : {".inf", "-.INF", "inf", ".nan", "NaN", "+Infinity"})
    EXPECT_EQ(refusal(text, Unit::none), "'" + std::string(text) + "' is not a finite number");
  EXPECT_EQ(refusal("1e999", Unit::none), "'1e999' is out of range");
  EXPECT_EQ(refusal("1e305 GHz", Unit::hertz), "'1e305 GHz' is out of range");
  EXPECT_EQ(refusal("1e99999999999999999999", Unit::none), "'1e99999999999999999999' is out of range");
}

TEST(Whole, IsExactOverAllBits) {
  std::string why;
  EXPECT_EQ(parse_whole("9223372036854775807", Unit::none, why), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_whole("-9223372036854775808", Unit::none, why), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_whole("0x7fffffffffffffff", Unit::none, why), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_whole("1e6", Unit::none, why), 1000000);
  EXPECT_EQ(parse_whole("0x10", Unit::none, why), 16);
  EXPECT_EQ(parse_whole("0b1101", Unit::none, why), 13);
  EXPECT_EQ(parse_whole("-0B11", Unit::none, why), -3);
  EXPECT_FALSE(parse_whole("0b12", Unit::none, why));
  EXPECT_FALSE(parse_whole("0b", Unit::none, why));
  EXPECT_EQ(parse_whole("+7", Unit::none, why), 7);
  EXPECT_EQ(parse_whole("1.5 KiB", Unit::bytes, why), 1536);
}

TEST(Whole, RefusesFractionsAndExcess) {
  std::string why;
  EXPECT_FALSE(parse_whole("2.5", Unit::none, why));
  EXPECT_EQ(why, "2.5 is not a whole number");
  EXPECT_FALSE(parse_whole("9223372036854775808", Unit::none, why));
  EXPECT_EQ(why, "9223372036854775808 does not fit into 64 bits");
  EXPECT_FALSE(parse_whole("0x8000000000000000", Unit::none, why));
  EXPECT_FALSE(parse_whole("12a", Unit::none, why));
  EXPECT_EQ(why, "unit 'a' does not fit; this is a plain number");
}

TEST(ComplexNumber, IsWrittenAsPythonDoes) {
  EXPECT_EQ(parse_complex("2"), Complex(2, 0));
  EXPECT_EQ(parse_complex("0.3-0.1j"), Complex(0.3, -0.1));
  EXPECT_EQ(parse_complex("0.3 + 0.1j"), Complex(0.3, 0.1));
  EXPECT_EQ(parse_complex("1e-3j"), Complex(0, 1e-3));
  EXPECT_EQ(parse_complex("-1e-3-2e+2i"), Complex(-1e-3, -200));
  EXPECT_EQ(parse_complex("j"), Complex(0, 1));
  EXPECT_EQ(parse_complex("-j"), Complex(0, -1));
  EXPECT_EQ(parse_complex("1-j"), Complex(1, -1));
  for (const char* text : {"", "1+2", "j1", "1j2", "1 2j", "a", "nan", "infj", "1+-2j", "--j", "1e999"})
    EXPECT_FALSE(parse_complex(text).has_value()) << text;
}

TEST(QuantityText, IsWhatAPersonWrites) {
  EXPECT_EQ(quantity_text(20625000, Unit::rate), "20.625 MS/s");
  EXPECT_EQ(rate_text(2000876.4), "2.001 MS/s");
  EXPECT_EQ(rate_text(249788), "249.788 kS/s");
  EXPECT_EQ(rate_text(12.5), "12.5 S/s");
  EXPECT_EQ(rate_text(0.0004), "0.0004 S/s");
  EXPECT_EQ(rate_text(0), "0 S/s");
  EXPECT_EQ(quantity_text(250e-6, Unit::seconds), "250 us");
  EXPECT_EQ(quantity_text(1e-10, Unit::seconds), "0.1 ns");
  EXPECT_EQ(quantity_text(67108864, Unit::bytes), "64 MiB");
  EXPECT_EQ(quantity_text(1000000, Unit::bytes), "1000000 B");
  EXPECT_EQ(quantity_text(0, Unit::hertz), "0");
  EXPECT_EQ(quantity_text(-3, Unit::decibel), "-3 dB");
  EXPECT_EQ(quantity_text(1000000, Unit::none), "1000000");
  EXPECT_EQ(quantity_text(0.1, Unit::none), "0.1");
  for (const Unit unit : {Unit::hertz, Unit::rate, Unit::seconds, Unit::decibel, Unit::bytes, Unit::none})
    for (const double x : {1e-9, 0.001, 0.25, 1.0, 999.0, 1536.0, 1.4515e9, 5e12})
      EXPECT_NEAR(quantity(quantity_text(x, unit), unit), x, 1e-14 * x);  // fifteen digits
}

TEST(QuantityPattern, TakesWhatTheParserTakes) {
  const std::string rate = quantity_pattern(Unit::rate);
  for (const char* text : {"20.625 MS/s", "1e6", "5kS/s", "-.5 Hz", "3."}) {
    EXPECT_TRUE(matches(text, rate)) << text;
    EXPECT_TRUE(std::isfinite(quantity(text, Unit::rate)));
  }
  for (const char* text : {"20 ms", "MS/s", "1.2.3"}) EXPECT_FALSE(matches(text, rate)) << text;
}

TEST(Quantity, KnowsWhetherAUnitIsWritten) {
  for (const char* text : {"98.5", " 1e6 ", "-3", "0x10", "0b11", ".5"}) EXPECT_FALSE(has_unit(text)) << text;
  for (const char* text : {"98.5 MHz", "1e6Hz", "2 s"}) EXPECT_TRUE(has_unit(text)) << text;
}

}  // namespace
}  // namespace iqd
