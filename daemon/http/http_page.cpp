// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/http/page_files.hpp"

namespace iqd {
namespace {

const PageFile* page_file(std::string_view name) {
  const auto at = std::ranges::find(page_files(), name, &PageFile::name);
  return at == page_files().end() ? nullptr : &*at;
}

/// `"a", W/"b"`, or `*`.
bool is_known(std::string_view known, std::string_view tag) {
  return known == "*" || known.find(tag) != known.npos;
}

}  // namespace

bool wants_page(const HttpHeaders& headers) {
  return headers.accept.find("text/html") != headers.accept.npos && page_file("index.html");
}

HttpAnswer page_answer(std::string_view name, const HttpHeaders& headers) {
  const PageFile* const file = page_file(name);
  if (!file) return refusal(404, {"the page has no such file"});
  HttpAnswer answer;
  answer.type = file->type;
  answer.policy = kPagePolicy;
  answer.cache = "no-cache";
  const std::string tag = fmt::format("\"{}\"", file->hash);
  answer.header = fmt::format(
      "ETag: {}\r\nVary: Accept\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n",
      tag);
  if (is_known(headers.if_none_match, tag))
    answer.status = 304;
  else
    answer.body = file->text;
  return answer;
}

}  // namespace iqd
