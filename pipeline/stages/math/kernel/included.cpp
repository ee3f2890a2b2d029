// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/included.hpp"

#include <set>

#include "base/files/text_file.hpp"
#include "pipeline/stages/math/program_source.hpp"

namespace iqd::kernel {
namespace {

class Search {
 public:
  void add(const std::filesystem::path& folder, const std::string& text) {
    for (std::size_t at = text.find("#include"); at != text.npos && found_.text.size() < program_source::kMostText;
         at = text.find("#include", at + 1)) {
      const std::size_t begin = text.find_first_of("\"\n", at);
      const std::size_t end = begin == text.npos ? begin : text.find_first_of("\"\n", begin + 1);
      if (end == text.npos || text[begin] != '"' || text[end] != '"') continue;
      const std::filesystem::path path = folder / text.substr(begin + 1, end - begin - 1);
      if (!seen_.insert(path.lexically_normal().string()).second) continue;
      std::error_code error;
      const auto status = std::filesystem::status(path, error);
      if (std::filesystem::is_other(status)) found_.endless = path.string();
      std::string why;
      const auto content = read_text(path.string(), program_source::kMostText, why);
      if (!content || content->empty()) continue;
      found_.text += *content;
      add(path.parent_path(), *content);
    }
  }
  Included take() { return std::move(found_); }

 private:
  Included found_;
  std::set<std::string> seen_;
};

}  // namespace

Included included_by(const std::string& text, const std::filesystem::path& folder) {
  Search search;
  search.add(folder, text);
  return search.take();
}

}  // namespace iqd::kernel
