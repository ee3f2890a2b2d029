// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/program_text.hpp"

#include <gmock/gmock.h>

#include <string>

#include "tests/support/scratch_folder.hpp"

namespace iqd::kernel {
namespace {

/// Loads a text for a pipeline in `a.yaml` of a folder.
class ProgramText : public ::testing::Test {
 protected:
  std::string load(const Config& config) {
    Problems problems;
    Section section("kernel", {folder_ / "a.yaml", 3, 1}, problems);
    section.note("code", {folder_ / "a.yaml", 5, 7});
    const bool loaded = load_text(config, section, program_);
    EXPECT_EQ(loaded, problems.empty());
    return problems.empty() ? "" : problems.front().what;
  }
  std::string load_file(const std::string& file) {
    Config config;
    config.file = file;
    return load(config);
  }
  std::string load_code(const std::string& code) {
    Config config;
    config.code = code;
    return load(config);
  }

  ScratchFolder folder_;
  Program program_;
};

TEST_F(ProgramText, AFileIsBesideThePipeline) {
  folder_.write("mine.cu", "\xef\xbb\xbfint a;\n#include \"more.h\"\n");
  folder_.write("more.h", "int b;\n");
  ASSERT_EQ(load_file("mine.cu"), "");
  EXPECT_EQ(program_.text, "int a;\n#include \"more.h\"\n");  // without its byte order mark
  EXPECT_EQ(program_.included, "int b;\n");
  EXPECT_EQ(program_.name, folder_ / "mine.cu");
  EXPECT_EQ(program_.folder, folder_.path().string());
  EXPECT_FALSE(program_.is_code);
  EXPECT_EQ(program_.first_line, 1);
}

TEST_F(ProgramText, CodeBeginsInTheLineOfItsKeyOrInTheNext) {
  ASSERT_EQ(load_code("int a;"), "");
  EXPECT_TRUE(program_.is_code);
  EXPECT_EQ(program_.name, folder_ / "a.yaml");
  EXPECT_EQ(program_.folder, folder_.path().string());
  EXPECT_EQ(program_.first_line, 5);
  ASSERT_EQ(load_code("int a;\nint b;\n"), "");
  EXPECT_EQ(program_.first_line, 6);
}

TEST_F(ProgramText, AFileThatIsNoTextIsRefused) {
  folder_.write("empty.cu", " \n");
  folder_.write("binary.cu", std::string("a\0b", 3));
  const std::string path = folder_.path().string() + "/";
  EXPECT_EQ(load_file("empty.cu"), path + "empty.cu is empty");
  EXPECT_EQ(load_file("binary.cu"), path + "binary.cu is not a text file");
  EXPECT_THAT(load_file("./none.cu"),
              ::testing::AllOf(::testing::StartsWith(path + "./none.cu cannot be read: No such file or directory"),
                               ::testing::HasSubstr("and in the working directory, ")));
  EXPECT_EQ(load_code("#include \"/dev/zero\"\n"), "includes /dev/zero, which is not a regular file");
}

TEST_F(ProgramText, OneOfFileAndCodeIsNeeded) {
  EXPECT_EQ(load({}), "needs `file:`, the file with the function (or `code:`, its text)");
  Config both;
  both.file = "a.cu";
  both.code = "int a;";
  EXPECT_EQ(load(both), "`file` is set too: give only one of them");
  EXPECT_EQ(program_.text, "");
}

}  // namespace
}  // namespace iqd::kernel
