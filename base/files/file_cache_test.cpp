// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/file_cache.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <thread>

#include "tests/support/scratch_folder.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;

const std::vector<char> kContent{'a', '\0', '\n', 'b', '\xff'};

/// Sets environment variables for a test, and restores them at its end.
class Environment {
 public:
  void set(const std::string& name, const char* value) {
    const char* now = std::getenv(name.c_str());
    before_.emplace(name, now ? std::optional<std::string>(now) : std::nullopt);
    if (value)
      ::setenv(name.c_str(), value, 1);
    else
      ::unsetenv(name.c_str());
  }
  ~Environment() {
    for (const auto& [name, value] : before_)
      if (value)
        ::setenv(name.c_str(), value->c_str(), 1);
      else
        ::unsetenv(name.c_str());
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST(FileCache, FindsWhatItKept) {
  const ScratchFolder scratch;
  const FileCache cache(scratch.path() / "made" / "when needed");
  const std::string key = content_key({"a text"});
  EXPECT_EQ(cache.find(key), std::nullopt);
  EXPECT_EQ(cache.keep(key, kContent), "");
  EXPECT_EQ(cache.find(key), kContent);
  EXPECT_EQ(cache.find(content_key({"another"})), std::nullopt);
  EXPECT_EQ(cache.keep(key, {}), "");
  EXPECT_EQ(cache.find(key), std::vector<char>()) << "the last that was kept";
  const auto files = std::filesystem::directory_iterator(scratch.path() / "made" / "when needed");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "no other file is left";
}

/// A key depends on where one text ends and the next begins.
TEST(FileCache, KeysAreOfContent) {
  EXPECT_EQ(content_key({"ab", "c"}), content_key({"ab", "c"}));
  EXPECT_NE(content_key({"ab", "c"}), content_key({"a", "bc"}));
  EXPECT_NE(content_key({"ab", "c"}), content_key({"c", "ab"}));
  EXPECT_NE(content_key({"ab", ""}), content_key({"ab"}));
  EXPECT_EQ(content_key({"ab"}).size(), 32u);
}

TEST(FileCache, RubbishIsNotFoundAndIsWrittenOver) {
  const ScratchFolder scratch;
  const FileCache cache(scratch.path());
  const std::string key = content_key({"a"}), other = content_key({"b"});
  ASSERT_EQ(cache.keep(key, kContent), "");
  const std::string good = scratch.text(key);
  std::string changed = good, longer = good + "x";
  changed.back() ^= 1;
  for (const std::string& rubbish : {std::string(), std::string("\n"), std::string("not of ours"), changed, longer,
                                     good.substr(0, good.size() - 1), good.substr(0, 20)}) {
    scratch.write(key, rubbish);
    EXPECT_EQ(cache.find(key), std::nullopt) << "'" << rubbish << "'";
  }
  scratch.write(other, good);
  EXPECT_EQ(cache.find(other), std::nullopt) << "another's content under this name";
  EXPECT_EQ(cache.keep(key, kContent), "");
  EXPECT_EQ(cache.find(key), kContent);
}

TEST(FileCache, SaysWhyNothingCanBeKept) {
  const ScratchFolder scratch;
  const std::string key = content_key({"a"});
  scratch.write("a file", "");
  EXPECT_THAT(FileCache(scratch / "a file").keep(key, kContent), HasSubstr("a file"));
  std::filesystem::create_directories(scratch.path() / "folder" / key / "within");
  EXPECT_THAT(FileCache(scratch / "folder").keep(key, kContent), HasSubstr("folder")) << "a folder where a file goes";
  EXPECT_EQ(FileCache(scratch / "folder").find(key), std::nullopt);
  EXPECT_EQ(FileCache({}).keep(key, kContent), "") << "an empty folder is no error";
  EXPECT_EQ(FileCache({}).find(key), std::nullopt);
  if (::geteuid() == 0) return;  // root may write everywhere
  std::filesystem::create_directory(scratch.path() / "read only");
  std::filesystem::permissions(scratch.path() / "read only", std::filesystem::perms(0500));
  EXPECT_THAT(FileCache(scratch / "read only").keep(key, kContent), HasSubstr("read only"));
}

TEST(FileCache, ThreadsDoNotSeeHalfAFile) {
  const ScratchFolder scratch;
  const FileCache cache(scratch.path());
  const std::string key = content_key({"a"});
  const std::vector<char> one(100'000, '1'), two(70'000, '2');
  ASSERT_EQ(cache.keep(key, one), "");
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(cache.keep(key, i % 2 == 0 ? two : one), "");
  });
  for (int i = 0; i < 50; ++i) {
    const auto found = cache.find(key);
    EXPECT_TRUE(found == one || found == two);
  }
  writer.join();
}

TEST(FileCache, FolderIsTheFirstThatIsNamed) {
  Environment environment;
  environment.set("HOME", "/home/somebody");
  for (const char* variable : {"IQD_CACHE_DIR", "CACHE_DIRECTORY", "XDG_CACHE_HOME"})
    environment.set(variable, nullptr);
  EXPECT_EQ(cache_folder(), "/home/somebody/.cache/iqd");
  environment.set("XDG_CACHE_HOME", "/x");
  EXPECT_EQ(cache_folder(), "/x/iqd");
  environment.set("CACHE_DIRECTORY", "/var/cache/iqd:/var/cache/more");
  EXPECT_EQ(cache_folder(), "/var/cache/iqd");
  environment.set("IQD_CACHE_DIR", "/mine");
  EXPECT_EQ(cache_folder(), "/mine");
  for (const char* variable : {"IQD_CACHE_DIR", "CACHE_DIRECTORY", "XDG_CACHE_HOME", "HOME"})
    environment.set(variable, "");
  EXPECT_EQ(cache_folder(), "");
}

}  // namespace
}  // namespace iqd
