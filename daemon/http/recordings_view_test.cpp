// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/recordings_view.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "daemon/http/http_door.hpp"
#include "tests/support/fake_service.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Says what it was asked for, and that it records.
class RecordingService final : public testing::FakeService {
 public:
  ChangeReport record(const RecordingRequest& request) override {
    const std::lock_guard lock(mutex_);
    asked_for_ = request;
    if (request.port == "none") return {ChangeReport::Result::refused, {"no such port"}};
    running_ = {{"new.sigmf"}};
    return {ChangeReport::Result::applied, {"recording", "new.sigmf"}};
  }
  std::vector<RunningRecording> recording() const override {
    const std::lock_guard lock(mutex_);
    return running_;
  }
  RecordingRequest asked_for() const {
    const std::lock_guard lock(mutex_);
    return asked_for_;
  }
  void run(std::vector<RunningRecording> running) {
    const std::lock_guard lock(mutex_);
    running_ = std::move(running);
  }

 private:
  mutable std::mutex mutex_;  // the server's threads and the test's
  RecordingRequest asked_for_;
  std::vector<RunningRecording> running_;
};

using States = std::map<std::string, std::string>;

class RecordingsDoor : public ::testing::Test {
 protected:
  RecordingsDoor() {
    Spec spec;
    spec.listen = "127.0.0.1:0";
    spec.recordings = folder_.path();
    door_.emplace(service_, spec);
  }
  std::string ask(std::string_view method, std::string_view path, std::string_view body = "") {
    return testing::ask(door_->address().port,
                        fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", method, path,
                                    body.size(), body),
                        method == "HEAD");
  }
  static nlohmann::json json_in(const std::string& answer) {
    return nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }
  States states() {
    States found;
    const nlohmann::json answer = json_in(ask("GET", "/api/recordings"));
    for (const nlohmann::json& entry : answer["recordings"]) found[entry["name"]] = entry["state"];
    return found;
  }

  ScratchFolder folder_;
  RecordingService service_;
  std::optional<HttpDoor> door_;
};

TEST_F(RecordingsDoor, StartsOne) {
  const std::string answer = ask("POST", "/api/recordings", R"({"port": "source", "seconds": 2.5, "pipeline": "lab"})");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(json_in(answer)["recording"]["name"], "new.sigmf");
  EXPECT_EQ(json_in(answer)["recording"]["state"], "recording");
  EXPECT_EQ(json_in(answer)["applied"], nlohmann::json({"recording"}));
  EXPECT_EQ(service_.asked_for().pipeline, "lab");
  EXPECT_EQ(service_.asked_for().seconds, 2.5);
  EXPECT_EQ(service_.asked_for().folder, folder_.path());
  EXPECT_THAT(ask("POST", "/api/recordings", R"({"port": "none", "seconds": 1})"), StartsWith("HTTP/1.1 422 "));
}

TEST_F(RecordingsDoor, RefusesWhatIsNoRequest) {
  for (const char* body : {"", "x", "[]", "{}", R"({"port": 1, "seconds": 1})"})
    EXPECT_THAT(ask("POST", "/api/recordings", body), StartsWith("HTTP/1.1 400 ")) << body;
  for (const char* body :
       {R"({"port": "source"})", R"({"port": "source", "seconds": "1"})", R"({"port": "source", "seconds": 0})",
        R"({"port": "source", "seconds": -1})", R"({"port": "source", "seconds": 1e9})"})
    EXPECT_THAT(ask("POST", "/api/recordings", body), StartsWith("HTTP/1.1 422 ")) << body;
}

TEST_F(RecordingsDoor, ListsThoseThatAreDoneAndThoseThatRun) {
  folder_.write("old.sigmf", "abc");
  folder_.write("new.part.sigmf-data", "12345");
  folder_.write("new.part.sigmf-meta", "{}");
  folder_.write(".hidden", "x");
  std::filesystem::create_directory(folder_.path() / "folder");
  std::filesystem::create_symlink("/etc/passwd", folder_.path() / "link");
  service_.run({{"new.sigmf"}});
  std::map<std::string, nlohmann::json> found;
  const nlohmann::json answer = json_in(ask("GET", "/api/recordings"));
  for (const nlohmann::json& entry : answer["recordings"]) found[entry["name"]] = entry;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found["old.sigmf"]["bytes"], 3);
  EXPECT_EQ(found["old.sigmf"]["state"], "done");
  EXPECT_EQ(found["new.sigmf"]["bytes"], 5);
  EXPECT_EQ(found["new.sigmf"]["state"], "recording");
}

TEST_F(RecordingsDoor, ListsOneUntilItsFileIsComplete) {
  service_.run({{"new.sigmf", true}});
  folder_.write("new.part.sigmf-data", "12345");
  EXPECT_EQ(states(), (States{{"new.sigmf", "closing"}}));
  EXPECT_THAT(ask("DELETE", "/api/recordings/new.sigmf"), StartsWith("HTTP/1.1 409 "));
}

TEST_F(RecordingsDoor, WhatRemainsOfAnUnfinishedOneCanBeDeleted) {
  for (const char* name : {"a.part.sigmf-data", "a.part.sigmf-meta", "a.sigmf.part", "b.part.sigmf-meta"})
    folder_.write(name, "x");
  folder_.write("x.part.1.sigmf", "x");
  EXPECT_EQ(
      states(),
      (States{{"a.part.sigmf-data", "unfinished"}, {"b.part.sigmf-meta", "unfinished"}, {"x.part.1.sigmf", "done"}}));
  EXPECT_THAT(ask("GET", "/api/recordings/a.part.sigmf-meta"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask("DELETE", "/api/recordings/a.part.sigmf-data"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(states(), (States{{"b.part.sigmf-meta", "unfinished"}, {"x.part.1.sigmf", "done"}}));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a.part.sigmf-meta"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a.sigmf.part"));
}

TEST_F(RecordingsDoor, FilesOfOneThatRunsCannotBeDeleted) {
  service_.run({{"a.sigmf"}, {"b.npy"}});
  for (const char* name : {"a.part.sigmf-data", "a.part.sigmf-meta", "b.npy", "b.json", "b.messages.npy"}) {
    folder_.write(name, "x");
    EXPECT_THAT(ask("DELETE", fmt::format("/api/recordings/{}", name)), StartsWith("HTTP/1.1 409 ")) << name;
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / name)) << name;
  }
  EXPECT_EQ(states(), (States{{"a.sigmf", "recording"}, {"b.npy", "recording"}}));
}

TEST_F(RecordingsDoor, FilesBesideAnArrayBelongToIt) {
  for (const char* name : {"a.npy", "a.messages.npy", "a.facts.npy", "a.json", "b.json"}) folder_.write(name, "x");
  EXPECT_EQ(states(), (States{{"a.npy", "done"}, {"b.json", "done"}}));
  EXPECT_THAT(ask("GET", "/api/recordings/a.messages.npy"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask("DELETE", "/api/recordings/a.npy"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(states(), (States{{"b.json", "done"}}));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a.facts.npy"));
}

TEST_F(RecordingsDoor, SendsAndDeletesOne) {
  const std::string text(1'000'000, 'x');
  folder_.write("a.sigmf", text);
  const std::string answer = ask("GET", "/api/recordings/a.sigmf");
  EXPECT_THAT(answer.substr(0, 1000), HasSubstr("Content-Length: 1000000\r\n"));
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), text);
  EXPECT_THAT(ask("HEAD", "/api/recordings/a.sigmf"), HasSubstr("Content-Length: 1000000\r\n"));
  service_.run({{"a.sigmf"}});
  EXPECT_THAT(ask("DELETE", "/api/recordings/a.sigmf"), StartsWith("HTTP/1.1 409 "));
  service_.run({});
  EXPECT_THAT(ask("DELETE", "/api/recordings/a.sigmf"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask("GET", "/api/recordings/a.sigmf"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(RecordingsDoor, LeadsNowhereElse) {
  std::filesystem::create_symlink("/etc/passwd", folder_.path() / "link");
  folder_.write(".hidden", "x");
  for (const char* name : {"link", ".hidden", "..", "%2e%2e", "..%2fpasswd", "%2fetc%2fpasswd", "none"})
    for (const char* method : {"GET", "DELETE"})
      EXPECT_THAT(ask(method, fmt::format("/api/recordings/{}", name)), HasSubstr(" 404 ")) << method << name;
}

TEST(RecordingsWithoutAFolder, AreRefused) {
  testing::FakeService service;
  Spec spec;
  spec.listen = "127.0.0.1:0";
  const HttpDoor door(service, spec);
  for (const char* request : {"GET /api/recordings", "POST /api/recordings", "GET /api/recordings/x"})
    EXPECT_THAT(testing::ask(door.address().port, fmt::format("{} HTTP/1.1\r\nHost: localhost\r\n\r\n", request)),
                StartsWith("HTTP/1.1 409 "));
}

}  // namespace
}  // namespace iqd
