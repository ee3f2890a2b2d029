// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/ask/monitor_client.hpp"

#include <civetweb.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "daemon/http/http_access.hpp"

namespace iqd {
namespace {

/// An answer that takes longer is none; a change may close a radio and open another.
constexpr auto kPatience = std::chrono::seconds(10);
constexpr auto kPatienceOfChange = std::chrono::seconds(120);

std::string encoded(std::string_view name) {
  std::string text(name.size() * 3 + 1, '\0');
  const int length = mg_url_encode(std::string(name).c_str(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max(length, 0)));
  return text;
}

std::string request_text(const MonitorAddress& to, const std::string& token, std::string_view method,
                         const std::string& path, const std::string& body) {
  std::string text = fmt::format("{} {} HTTP/1.0\r\nHost: {}\r\n", method, path, to.text());
  if (!token.empty()) text += fmt::format("Authorization: Bearer {}\r\n", token);
  if (method != "GET") text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  return text + "\r\n" + body;
}

}  // namespace

void add_monitor_options(Command command, MonitorOptions& options) {
  command
      .option("--address", &options.address,
              "where iqd answers: HOST:PORT of its `monitor` (IQD_MONITOR, or 127.0.0.1:9464)")
      .option("--token", &options.token_file, "file with the token that the monitor requires")
      .option("--pipeline", &options.pipeline, "name of a pipeline, if the file has several")
      .option("--json", &options.as_json, "print the answer as JSON");
}

MonitorClient::MonitorClient(const MonitorOptions& options)
    : address_(monitor_address(options.address)),
      token_(options.token_file.empty() ? "" : read_token(options.token_file)) {}

HttpReply MonitorClient::ask(std::string_view method, const std::string& path, const std::string& body) const {
  return exchange(address_, request_text(address_, token_, method, path, body),
                  method == "GET" ? kPatience : kPatienceOfChange);
}

/// The reasons of the answer, one per line.
std::string MonitorClient::refusal(const HttpReply& answer) const {
  if (answer.status == 401)
    return token_.empty()
               ? fmt::format("{} requires a token for changes: give its file with --token FILE", address_.text())
               : fmt::format("{} requires another token than that of --token", address_.text());
  const nlohmann::json body = nlohmann::json::parse(answer.body, nullptr, false);
  if (answer.status == 405 || !body.is_object() || !body.contains("problems") || !body["problems"].is_array())
    return fmt::format("{} gave the answer {}, which is none of iqd's: another program, or an older iqd?",
                       address_.text(), answer.status);
  std::string text;
  for (const auto& problem : body["problems"])
    if (problem.is_string()) text += fmt::format("{}{}", text.empty() ? "" : "\n  ", problem.get<std::string>());
  return text;
}

nlohmann::json MonitorClient::call(std::string_view method, const std::string& path, const std::string& body) const {
  const HttpReply answer = ask(method, path, body);
  if (answer.status != 200) throw SetupError(refusal(answer));
  nlohmann::json json = nlohmann::json::parse(answer.body, nullptr, false);
  if (!json.is_object()) throw SetupError(refusal(answer));
  return json;
}

std::string path_of_stage(std::string_view pipeline, std::string_view stage) {
  std::string path = pipeline.empty() ? "/api/stages" : fmt::format("/api/pipelines/{}/stages", encoded(pipeline));
  return stage.empty() ? path : path + "/" + encoded(stage);
}

}  // namespace iqd
