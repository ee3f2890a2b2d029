// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/describe.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/reader.hpp"
#include "config/test_options.hpp"

namespace iqd {
namespace {

using nlohmann::json;

FieldList fields_of(TestOptions& options) {
  return [&options](FieldVisitor& v) { options.fields(v); };
}

TEST(Schema, DescribesEveryField) {
  TestOptions options;
  const json schema = schema_of(fields_of(options));
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], json({"rate"}));
  const json& p = schema["properties"];
  EXPECT_EQ(p.size(), 16u);
  EXPECT_EQ(p["size"], json::parse(R"({"type": "integer", "minimum": 1.0, "maximum": 65536.0, "default": 64,
                                       "description": "length of the transform"})"));
  EXPECT_EQ(p["rate"]["anyOf"][0], json::parse(R"({"type": "number", "minimum": 1e3, "maximum": 1e9})"));
  EXPECT_EQ(p["rate"]["description"], "samples [S/s]");
  EXPECT_FALSE(p["rate"].contains("default"));
  EXPECT_EQ(p["refine"], json::parse(R"({"type": "boolean", "default": true, "description": "look again"})"));
  EXPECT_EQ(p["method"],
            json::parse(R"({"enum": ["auto", "direct", "fft"], "default": "auto", "description": "how"})"));
  EXPECT_EQ(p["clip"]["default"], "none");
  EXPECT_EQ(p["weight"]["anyOf"][2]["minItems"], 2);
  EXPECT_EQ(p["taps"]["anyOf"][0]["type"], "array");
  EXPECT_EQ(p["taps"]["anyOf"][0]["items"], p["taps"]["anyOf"][1]);
  EXPECT_EQ(p["channels"]["anyOf"][0]["items"], json::parse(R"({"type": "integer", "minimum": 0.0, "maximum": 15.0})"));
  EXPECT_EQ(p["channels"]["default"], json::array({0}));
  EXPECT_EQ(p["kinds"]["default"], json({"zf", "mmse"}));
  EXPECT_EQ(p["wait"]["description"], "[s] (live)");
  EXPECT_EQ(p["cma"]["additionalProperties"], false);
  EXPECT_EQ(p["cma"]["properties"]["step"]["maximum"], 1.0);
  EXPECT_EQ(p["cma"]["description"], "blind");
}

TEST(Schema, ItsPatternsTakeQuantities) {
  TestOptions options;
  const json schema = schema_of(fields_of(options));
  const std::string rate = schema["properties"]["rate"]["anyOf"][1]["pattern"];
  EXPECT_TRUE(matches("20.625 MS/s", rate));
  EXPECT_FALSE(matches("20.625 ms", rate));
  const std::string number = schema["properties"]["weight"]["anyOf"][1]["pattern"];
  for (const char* text : {"0.3-0.1j", "1e-3j", "-j"}) EXPECT_TRUE(matches(text, number)) << text;
}

TEST(MarkdownTable, HasARowForEachField) {
  TestOptions options;
  const std::string table = markdown_table(fields_of(options));
  const auto has = [&](const std::string& row) { return table.find("\n" + row + "\n") != std::string::npos; };
  EXPECT_TRUE(table.starts_with("| key | default | range | meaning |\n| --- | --- | --- | --- |\n"));
  EXPECT_TRUE(has("| `size` | `64` | 1 … 65536 | length of the transform |")) << table;
  EXPECT_TRUE(has("| `limit_bytes` | `64 KiB` | ≥ 1 KiB |  |")) << table;
  EXPECT_TRUE(has("| `rate` | (required) | 1 kS/s … 1 GS/s | samples |")) << table;
  EXPECT_TRUE(has("| `wait` | `250 us` | ≥ 0 | live |")) << table;
  EXPECT_TRUE(has("| `scale` | `1` | ≤ 2 | gain \\| loss |")) << table;
  EXPECT_TRUE(has("| `clip` | `none` | ≥ 0 |  |")) << table;
  EXPECT_TRUE(has("| `kinds` | `[zf, mmse]` |  |  |")) << table;
  EXPECT_TRUE(has("| `method` | `auto` | auto, direct, fft | how |")) << table;
  EXPECT_TRUE(has("| `cma` |  |  | blind |")) << table;
  EXPECT_TRUE(has("| `cma.step` | `0.05` | 0 … 1 |  |")) << table;
}

TEST(TextTable, StandsInColumns) {
  TestOptions options;
  const std::string table = text_table(fields_of(options));
  EXPECT_TRUE(table.starts_with("key             default     range              meaning\n")) << table;
  EXPECT_NE(table.find("\nsize            64          1 … 65536          length of the transform\n"), std::string::npos)
      << table;
}

TEST(Tables, AreEmptyWithoutFields) {
  EXPECT_EQ(markdown_table([](FieldVisitor&) {}), "");
  EXPECT_EQ(text_table([](FieldVisitor&) {}), "");
}

/// The reader accepts the defaults shown in the tables, with the same value.
TEST(Tables, DefaultsReadBack) {
  TestOptions options;
  Problems problems;
  const Document document = parse_document(
      "{refine: true, size: 64, limit_bytes: 64 KiB, rate: 1 MS/s, wait: 250 us, scale: 1, weight: 1, clip: none,"
      " channels: [0], gains: [], taps: [], kinds: [zf, mmse], args: {}, method: auto}",
      "a.yaml", problems);
  const std::string before = markdown_table(fields_of(options));
  read_fields(document.root, fields_of(options), problems);
  EXPECT_TRUE(problems.empty()) << problems.front().text();
  EXPECT_EQ(markdown_table(fields_of(options)), before);
}

}  // namespace
}  // namespace iqd
