// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "daemon/command/commands.hpp"
#include "daemon/map/map_file.hpp"
#include "daemon/map/window_jobs.hpp"
#include "daemon/record/join.hpp"
#include "pipeline/spec_plan.hpp"
#include "radio/file/file_driver.hpp"
#include "radio/file/recording.hpp"
#include "radio/window/fingerprint.hpp"

namespace iqd {
namespace {

namespace fs = std::filesystem;

struct MapOptions {
  std::string file, recording, pipeline, into, warm;
  std::int64_t windows = 0;
  int jobs = 0;
  int tries = 3;
  bool lossy = false, overwrite = false, keep = false, slurm = false;
  std::vector<std::string> sbatch;
};

class Map {
 public:
  explicit Map(const MapOptions& options) : o_(options) {
    if (!o_.slurm && !o_.sbatch.empty()) throw UsageError("map: --sbatch needs --slurm");
    if (o_.windows == 0) {
      if (o_.slurm) throw UsageError("map: --slurm needs --windows");
      o_.windows = machine_jobs();
    }
    if (o_.into.empty()) o_.into = fs::path(o_.file).stem().string() + ".map";
    folder_ = fs::absolute(o_.into);
    own_ = folder_ / ".map";
    run_ = {fs::read_symlink("/proc/self/exe").string(),
            (own_ / "map.yaml").string(),
            fs::absolute(o_.file).parent_path().string(),
            own_.string(),
            o_.windows,
            o_.warm};
  }

  Exit operator()() {
    if (!prepare()) return Exit::configuration;
    const std::unique_ptr<WindowJobs> jobs =
        o_.slurm ? slurm_jobs(run_, o_.sbatch, o_.jobs) : local_jobs(run_, machine_jobs());
    for (int tried = 0; tried < o_.tries; ++tried) {
      const std::vector<std::int64_t> missing = missing_windows(join_options());
      if (missing.empty()) break;
      if (tried > 0) fmt::print(stderr, "map: again: windows {}\n", ranges_of(missing));
      if (!jobs->run(missing))
        throw SetupError("map: stopped; the same command continues with the windows that are missing");
    }
    if (const std::vector<std::int64_t> missing = missing_windows(join_options()); !missing.empty())
      throw SetupError(
          fmt::format("map: after {} tries, windows {} are missing or lost samples, which --lossy accepts; see {}",
                      o_.tries, ranges_of(missing), run_.log(std::to_string(missing.front()))));
    const Exit exit = join_windows(join_options());
    if (exit == Exit::ok && !o_.keep) remove_windows(text_of_file(run_.file));
    return exit;
  }

 private:
  int machine_jobs() const {
    return o_.jobs > 0 ? o_.jobs : static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
  }
  JoinOptions join_options() const {
    return {
        .folder = folder_.string(), .windows = o_.windows, .lossy = o_.lossy, .overwrite = o_.overwrite || continues_};
  }

  /// The folder, and the file that all windows run. False: problems were reported.
  bool prepare() {
    Problems problems;
    const Document document = load_document(o_.file, problems);
    if (report(problems)) return false;
    std::string text = map_file(document, {o_.pipeline, o_.recording, folder_.string()});
    fs::create_directories(folder_);
    // Files that the pipeline names are looked for in its folder.
    fs::current_path(run_.start);
    if (!is_right(text)) return false;
    text = head(text) + text;
    const std::string there = text_of_file(run_.file);
    continues_ = there == text;
    if (continues_) return true;
    if (!there.empty() && !o_.overwrite)
      throw UsageError(
          fmt::format("map: {} has windows of something else: name another folder with --into, or --overwrite them",
                      folder_.string()));
    if (!o_.overwrite) refuse_results(text);
    remove_windows(there);
    fs::create_directories(own_);
    std::ofstream out(run_.file);
    if (!(out << text << std::flush)) throw SetupError(fmt::format("map: {} cannot be written", run_.file));
    return true;
  }
  /// What all windows have in common besides the pipeline: with another head, they run again.
  std::string head(const std::string& text) const {
    const auto keys = nlohmann::json::parse(text)["source"]["file"];
    std::vector<std::string> problems;
    const radio::Recording recording = radio::read_recording(keys["path"], problems);
    std::string data = "unknown";
    if (!recording.data.empty() && fs::exists(recording.data))
      data = radio::Fingerprint::of(recording.path, recording.data).text();
    return fmt::format("# iqd {}: {} windows, warm '{}', of recording {}\n", IQD_VERSION, o_.windows, o_.warm, data);
  }
  /// As a window finds it.
  bool is_right(const std::string& text) const {
    Problems problems;
    nlohmann::ordered_json keys{{"window", fmt::format("0/{}", o_.windows)}};
    if (!o_.warm.empty()) keys["warm"] = o_.warm;
    const Override window{"", "source", parse_document(keys.dump(), "the command line", problems).root};
    Loaded loaded;
    loaded.read(parse_document(text, o_.file, loaded.problems), {&window, 1});
    check_spec(loaded.spec, catalogue(), loaded.problems);
    return !report(problems) && !report(loaded.problems);
  }
  /// The join would, after all the work.
  static void refuse_results(const std::string& text) {
    for (const std::string& path : sinks_of(text))
      if (const std::string file = radio::existing_file(path); !file.empty())
        throw UsageError(fmt::format("map: {} exists; --overwrite replaces it", file));
  }
  static std::string text_of_file(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// The paths of a map's sinks.
  static std::vector<std::string> sinks_of(const std::string& text) {
    const std::size_t behind_head = text.starts_with('#') ? text.find('\n') + 1 : 0;
    const auto file = nlohmann::json::parse(text.substr(behind_head), nullptr, false);
    std::vector<std::string> paths;
    if (file.is_object() && file.contains("sinks"))
      for (const auto& sink : file["sinks"]) paths.push_back(sink["file"]["path"]);
    return paths;
  }
  /// The windows of the map with this text, and what else it has in the folder, but for its results.
  void remove_windows(const std::string& text) const {
    static const std::regex number(R"(^\.[0-9]+-of-[0-9]+(\.json)?(\.part)?$)");
    std::vector<fs::path> found;
    for (const std::string& path : sinks_of(text)) {
      const std::string name = fs::path(path).filename().string();
      for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
        const std::string its = entry.path().filename().string();
        if (its.starts_with(name) && std::regex_match(its.substr(name.size()), number)) found.push_back(entry.path());
      }
    }
    for (const fs::path& window : found) fs::remove(window);
    fs::remove_all(own_);
  }

  MapOptions o_;
  fs::path folder_, own_;
  WindowRun run_;
  bool continues_ = false;  // with windows of the same map
};

}  // namespace

void add_map(CommandLine& line) {
  auto o = std::make_shared<MapOptions>();
  line.command("map", "run a pipeline over a recording in windows, here or on a cluster, and join the results",
               [o] { return Map(*o)(); })
      .option("FILE", &o->file, "pipeline definition (YAML); its topics become arrays", {.required = true})
      .option("RECORDING", &o->recording, "in place of the pipeline's source")
      .option("--pipeline", &o->pipeline, "which one, if the file has several")
      .option("--into", &o->into, "folder for the results (FILE.map)")
      .option("--windows", &o->windows, "how many windows; without --slurm: as many as run at a time",
              {.positive = true})
      .option("--jobs", &o->jobs, "how many run at a time: here one for each CPU, with --slurm all", {.positive = true})
      .option("--tries", &o->tries, "how often a window may run until its results are whole (3)", {.positive = true})
      .option("--warm", &o->warm, "so much before each window, stages with a state begin: samples or a time")
      .option("--lossy", &o->lossy, "accept windows that lost samples")
      .option("--overwrite", &o->overwrite, "replace results and windows that are there")
      .option("--keep", &o->keep, "keep the windows' own results after the join")
      .option("--slurm", &o->slurm, "run the windows as an array of Slurm; all its machines see the same files")
      .option("--sbatch", &o->sbatch, "option of sbatch, as --sbatch=--partition=lab; may be repeated");
}

}  // namespace iqd
