// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/npy.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "base/error.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;

/// A file that is removed at the end of the test.
class ScratchFile {
 public:
  ScratchFile() : path_(std::filesystem::temp_directory_path() / ("iqd-npy-" + std::to_string(::getpid()) + ".npy")) {}
  ~ScratchFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

std::string npy(const std::string& header, const std::string& data, int version = 1) {
  std::string text = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(header.size() >> (8 * i) & 255);
  return text + header + data;
}

std::string header_of(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

std::string bytes_upto(int n) {
  std::string bytes;
  for (int i = 0; i < n; ++i) bytes += static_cast<char>(i);
  return bytes;
}
std::string data_of(const NpyArray& a) {
  return {reinterpret_cast<const char*>(a.data.data()), a.data.size()};
}

std::string complaint(const std::string& path) {
  try {
    read_npy(path);
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr(path));
    return e.what();
  }
  return "none";
}

TEST(Npy, ReadsWhatItWrites) {
  const ScratchFile file;
  for (const char* dtype : {"<c8", "<c16", "<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "<i1", "<u1", "|b1"}) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{}, {5}, {2, 3}, {0, 4}, {2, 1, 3, 2}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}}) {
      std::size_t bytes = npy_item_bytes(dtype);
      for (const std::int64_t n : shape) bytes *= static_cast<std::size_t>(n);
      std::vector<std::byte> data(bytes);
      for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + 1);
      write_npy(file.path(), dtype, shape, data);
      const NpyArray a = read_npy(file.path());
      EXPECT_EQ(a.dtype, dtype);
      EXPECT_EQ(a.shape, shape);
      EXPECT_EQ(a.data, data);
      EXPECT_EQ(static_cast<std::size_t>(a.size()) * npy_item_bytes(dtype), bytes);
      EXPECT_EQ((file.bytes().size() - bytes) % 64, 0u);
    }
  }
}

TEST(Npy, WritesTheFormatToTheByte) {
  const ScratchFile file;
  const std::vector<std::int64_t> shape{3};
  write_npy(file.path(), "<u1", shape, std::vector<std::byte>(3, std::byte{9}));
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
  header.append(117 - header.size(), ' ').push_back('\n');
  EXPECT_EQ(file.bytes(), npy(header, "\x09\x09\x09"));
}

TEST(Npy, NormalisesNamesOrderAndBytes) {
  const ScratchFile file;
  file.write(npy(header_of("|u1", "(4,)"), bytes_upto(4)));
  EXPECT_EQ(read_npy(file.path()).dtype, "<u1");
  file.write(npy(header_of("|i1", "(4,)"), bytes_upto(4)));
  EXPECT_EQ(read_npy(file.path()).dtype, "<i1");
  file.write(npy(header_of(">i2", "(2,)"), bytes_upto(4)));
  EXPECT_EQ(data_of(read_npy(file.path())), std::string("\1\0\3\2", 4));
  file.write(npy(header_of(">c8", "(1,)"), bytes_upto(8)));
  EXPECT_EQ(read_npy(file.path()).dtype, "<c8");
  EXPECT_EQ(data_of(read_npy(file.path())), std::string("\3\2\1\0\7\6\5\4", 8));
  // a[i][j] is at i + 2 j
  file.write(npy(header_of("|u1", "(2, 3)", "True"), bytes_upto(6)));
  EXPECT_EQ(data_of(read_npy(file.path())), std::string("\0\2\4\1\3\5", 6));
  EXPECT_EQ(read_npy(file.path()).shape, (std::vector<std::int64_t>{2, 3}));
  file.write(npy(header_of(">i2", "(2, 2, 2)", "True"), bytes_upto(16)));
  EXPECT_EQ(data_of(read_npy(file.path())), std::string("\1\0\x9\x8\5\4\xd\xc\3\2\xb\xa\7\6\xf\xe", 16));
}

TEST(Npy, KnowsAllVersionsAndSpellings) {
  const ScratchFile file;
  for (const int version : {1, 2, 3}) {
    file.write(npy(header_of("<f4", "(2,)"), bytes_upto(8), version));
    EXPECT_EQ(data_of(read_npy(file.path())), bytes_upto(8));
  }
  for (const char* header : {"{\"shape\":(2L,),\"descr\":\"<f4\",\"fortran_order\":False}",
                             "  { 'shape' : ( 1 , 2 ) , 'descr' : '<f4' , 'fortran_order' : False , }  \n"}) {
    file.write(npy(header, bytes_upto(8)));
    EXPECT_EQ(data_of(read_npy(file.path())), bytes_upto(8)) << header;
  }
}

TEST(Npy, SaysWhatIsWrong) {
  const ScratchFile file;
  EXPECT_THAT(complaint("/nowhere/x.npy"), HasSubstr("there is no such file"));
  EXPECT_THAT(complaint("/"), HasSubstr("not a regular file"));
  const auto wrong = [&](const std::string& bytes) {
    file.write(bytes);
    return complaint(file.path());
  };
  const std::string good = header_of("<f4", "(2,)");
  EXPECT_THAT(wrong(""), HasSubstr("not an NPY file"));
  EXPECT_THAT(wrong("hello, this is a text"), HasSubstr("not an NPY file"));
  EXPECT_THAT(wrong(npy(good, "", 9)), HasSubstr("version 9"));
  EXPECT_THAT(wrong(npy(good, "").substr(0, 30)), HasSubstr("truncated"));
  EXPECT_THAT(wrong(npy(good, bytes_upto(7))), HasSubstr("truncated"));
  EXPECT_THAT(wrong(npy(good, bytes_upto(9))), HasSubstr("something follows"));
  EXPECT_THAT(wrong(npy(header_of("<U3", "(2,)"), "")), HasSubstr("<c8 <c16 <f8 <f4 <f2 <i8 <i4 <i2 <i1 <u1 |b1"));
  EXPECT_THAT(wrong(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "")), HasSubstr("records"));
  EXPECT_THAT(wrong(npy("{'descr': '<f4', 'shape': (2,)}", bytes_upto(8))), HasSubstr("lacks"));
  EXPECT_THAT(wrong(npy(header_of("<f4", "(9223372036854775807, 9223372036854775807)"), "")),
              HasSubstr("too many elements"));
  EXPECT_THAT(wrong(npy(header_of("<f4", "(1000000000000000,)"), "")), HasSubstr("truncated"));
  EXPECT_THAT(wrong(npy(header_of("<f4", "(-1,)"), "")), HasSubstr("shape"));
}

TEST(Npy, WritingComplainsToo) {
  const std::vector<std::int64_t> shape{2};
  const std::vector<std::byte> data(8);
  EXPECT_THROW(write_npy("/nowhere/x.npy", "<f4", shape, data), UsageError);
  const ScratchFile file;
  EXPECT_THROW(write_npy(file.path(), "<f8", shape, data), UsageError);
  EXPECT_THROW(write_npy(file.path(), "<u2", shape, data), UsageError);
  EXPECT_THROW(write_npy("/dev/full", "<f4", shape, data), SetupError);
}

TEST(Npy, SurvivesAnyHeader) {
  const ScratchFile file;
  std::mt19937 random(5);
  const auto pick = [&](std::size_t n) { return random() % n; };
  static const std::vector<std::string> kWords{
      "9223372036854775807", "-1", "(", ")", "True", "'", "{", "}", "0", ",", ">c16"};
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string header = header_of(i % 2 ? ">c8" : "<i2", "(2, 3, 4)", i % 3 ? "True" : "False");
    for (std::size_t k = 0, n = 1 + pick(3); k < n; ++k) {
      const std::size_t at = pick(header.size());
      switch (pick(4)) {
        case 0: header[at] = static_cast<char>(pick(256)); break;
        case 1: header.erase(at, 1 + pick(6)); break;
        case 2: header.insert(at, kWords[pick(kWords.size())]); break;
        default: header.insert(at, header.substr(pick(header.size()), pick(20))); break;
      }
      if (header.empty()) break;
    }
    std::string bytes = npy(header, bytes_upto(i % 2 ? 192 : 48), 1 + i % 3);
    if (pick(4) == 0) bytes[pick(12)] = static_cast<char>(pick(256));
    if (pick(8) == 0) bytes.resize(pick(bytes.size()));
    file.write(bytes);
    try {
      const NpyArray a = read_npy(file.path());
      ASSERT_LE(a.data.size(), bytes.size());
      ASSERT_EQ(static_cast<std::size_t>(a.size()) * npy_item_bytes(a.dtype), a.data.size());
      ++read;
    } catch (const UsageError&) {
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_LT(read, 15'000);
}

}  // namespace
}  // namespace iqd
