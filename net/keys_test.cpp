// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const SetupError& e) {
    return e.what();
  }
  return "none";
}

std::string secret_refusal(const std::string& path) {
  return refusal([&] { read_secret_key(path); });
}
std::string list_refusal(const std::string& path) {
  return refusal([&] { read_public_keys(path); });
}

mode_t mode_of(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
}

TEST(Keys, WhatIsWrittenIsRead) {
  const ScratchFolder folder;
  const KeyFiles files = write_key_files(folder.path(), "lab", false);
  EXPECT_EQ(files.secret_file, folder.path() / "lab.secret");
  EXPECT_EQ(files.public_file, folder.path() / "lab.pub");
  EXPECT_EQ(mode_of(files.secret_file), 0600u);
  const std::string secret = read_secret_key(files.secret_file);
  EXPECT_EQ(secret.size(), 40u);
  EXPECT_EQ(read_public_key(files.public_file), public_key_of(secret));
  EXPECT_NE(read_public_key(files.public_file), secret);
}

TEST(Keys, AreNotReplacedUnlessItIsSaid) {
  const ScratchFolder folder;
  const KeyFiles files = write_key_files(folder.path(), "lab", false);
  const std::string before = read_secret_key(files.secret_file);
  EXPECT_THAT(refusal([&] { write_key_files(folder.path(), "lab", false); }),
              AllOf(HasSubstr("lab.secret: already exists"), HasSubstr("--force")));
  std::filesystem::remove(files.secret_file);
  EXPECT_THAT(refusal([&] { write_key_files(folder.path(), "lab", false); }), HasSubstr("lab.pub: already exists"));
  EXPECT_FALSE(std::filesystem::exists(files.secret_file)) << "half a pair was written";
  write_key_files(folder.path(), "lab", true);
  EXPECT_NE(read_secret_key(files.secret_file), before);
  EXPECT_EQ(read_public_key(files.public_file), public_key_of(read_secret_key(files.secret_file)));
  EXPECT_THAT(refusal([&] { write_key_files(folder.path() / "none", "lab", false); }), HasSubstr("cannot be created"));
}

TEST(Keys, ASecretThatOthersCanGetAtIsRefused) {
  const ScratchFolder folder;
  const std::string path = write_key_files(folder.path(), "lab", false).secret_file;
  for (const mode_t mode : {0640u, 0604u, 0660u, 0644u, 0610u}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_THAT(secret_refusal(path), HasSubstr("`chmod 600 " + path + "`")) << std::oct << mode;
  }
  ASSERT_EQ(::chmod(path.c_str(), 0400), 0);
  EXPECT_EQ(secret_refusal(path), "none");
}

TEST(Keys, WhatIsNoSecretKeyIsRefusedWithoutTellingIt) {
  const ScratchFolder folder;
  const KeyFiles files = write_key_files(folder.path(), "lab", false);
  const std::string secret = read_secret_key(files.secret_file);
  EXPECT_THAT(secret_refusal(folder.path() / "none"), HasSubstr("No such file"));
  EXPECT_THAT(secret_refusal(folder.path()), HasSubstr("is not a file with keys"));
  ASSERT_EQ(::chmod(files.public_file.c_str(), 0600), 0);
  EXPECT_THAT(secret_refusal(files.public_file), HasSubstr("holds a public key"));
  for (const std::string& text : {std::string(), std::string("secret"), "secret " + secret.substr(1),
                                  "secret " + secret + "x", "secret '" + secret.substr(1), std::string(2 << 20, 'x')})
    EXPECT_THAT(secret_refusal(folder.write("bad", text)), AllOf(HasSubstr("bad: "), Not(HasSubstr(secret.substr(1)))));
}

TEST(Keys, AListHasAKeyALine) {
  const ScratchFolder folder;
  const std::string a = make_key_pair().public_key, b = make_key_pair().public_key;
  // A key may begin with a #, which otherwise starts a comment.
  const std::string c = '#' + a.substr(1);
  const std::string text =
      "# those of the lab\n\n" + a + " alice\r\n  " + b + "\n#" + b + "\n# " + a + "\n" + c + " # x";
  EXPECT_THAT(read_public_keys(folder.write("list", text)), ::testing::UnorderedElementsAre(a, b, c));
  EXPECT_TRUE(read_public_keys(folder.write("list", "")).empty());
}

TEST(Keys, AListThatEverybodyCanWriteToIsRefused) {
  const ScratchFolder folder;
  const std::string path = folder.write("list", make_key_pair().public_key + "\n");
  ASSERT_EQ(::chmod(path.c_str(), 0646), 0);
  EXPECT_THAT(list_refusal(path), HasSubstr("`chmod o-w " + path + "`"));
  ASSERT_EQ(::chmod(path.c_str(), 0664), 0);
  EXPECT_EQ(list_refusal(path), "none");
}

TEST(Keys, WhatIsNoListIsRefused) {
  const ScratchFolder folder;
  const KeyFiles files = write_key_files(folder.path(), "lab", false);
  const std::string key = read_public_key(files.public_file), secret = read_secret_key(files.secret_file);
  EXPECT_THAT(list_refusal(folder.write("list", key + "\nalice " + key + "\n")),
              HasSubstr("list: line 2 is not a public"));
  EXPECT_THAT(list_refusal(folder.write("list", "x" + key)), HasSubstr("line 1 is not a public key"));
  EXPECT_THAT(list_refusal(files.secret_file), AllOf(HasSubstr("line 1 is a secret key"), Not(HasSubstr(secret))));
  EXPECT_THAT(list_refusal(folder.path() / "none"), HasSubstr("No such file"));
  EXPECT_THAT(refusal([&] { read_public_key(folder.write("two", key + "\n" + make_key_pair().public_key)); }),
              HasSubstr("holds 2 public keys"));
  EXPECT_THAT(refusal([&] { read_public_key(folder.write("none", "# nobody\n")); }), HasSubstr("holds 0"));
}

}  // namespace
}  // namespace iqd::net
