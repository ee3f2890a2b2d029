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
    if (o_.windows == 0) {
      if (o_.slurm) throw UsageError("map: --slurm needs --windows");
      o_.windows = machine_jobs();
    }
    if (o_.into.empty()) o_.into = fs::path(o_.file).stem().string() + ".map";
    folder_ = fs::absolute(o_.into);
    file_ = folder_ / "map.yaml";
  }

  Exit operator()() {
    if (!prepare()) return Exit::configuration;
    const std::unique_ptr<WindowJobs> jobs = o_.slurm ? slurm_jobs(run_, o_.sbatch) : local_jobs(run_, machine_jobs());
    for (int tried = 0; tried < o_.tries; ++tried) {
      const std::vector<std::int64_t> missing = missing_windows(join_options());
      if (missing.empty()) break;
      if (tried > 0) fmt::print(stderr, "map: windows {} run again\n", ranges_of(missing));
      if (!jobs->run(missing))
        throw SetupError("map: stopped; the same command continues with the windows that are missing");
    }
    if (const std::vector<std::int64_t> missing = missing_windows(join_options()); !missing.empty())
      throw SetupError(fmt::format("map: windows {} are missing after {} tries; see {}", ranges_of(missing), o_.tries,
                                   run_.log(std::to_string(missing.front()))));
    const Exit exit = join_windows(join_options());
    if (exit == Exit::ok && !o_.keep) remove_windows();
    return exit;
  }

 private:
  int machine_jobs() const {
    return o_.jobs > 0 ? o_.jobs : static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
  }
  JoinOptions join_options() const {
    return {.folder = folder_.string(), .windows = o_.windows, .lossy = o_.lossy, .overwrite = o_.overwrite};
  }

  /// The folder and the file that all windows run. False: problems were reported.
  bool prepare() {
    Problems problems;
    const Document document = load_document(o_.file, problems);
    if (report(problems)) return false;
    const std::string text = map_file(document, {o_.pipeline, o_.recording, folder_.string(), o_.overwrite});
    run_ = {fs::read_symlink("/proc/self/exe").string(),
            file_.string(),
            fs::absolute(o_.file).parent_path().string(),
            folder_.string(),
            o_.windows,
            o_.warm};
    fs::create_directories(folder_);
    if (o_.overwrite) remove_windows();
    refuse_others(text);
    std::ofstream(file_) << text;
    // Files that the pipeline names are found as they are from its own folder.
    fs::current_path(run_.start);
    if (!is_right()) return false;
    if (!o_.overwrite) refuse_results(text);
    return true;
  }
  void refuse_others(const std::string& text) const {
    std::ifstream in(file_);
    const std::string there{std::istreambuf_iterator<char>(in), {}};
    if (there != text && !windows_there().empty())
      throw UsageError(
          fmt::format("map: {} has windows of something else: name another folder with --into, or --overwrite them",
                      folder_.string()));
  }
  /// The join would, after all the work.
  void refuse_results(const std::string& text) const {
    const auto file = nlohmann::json::parse(text);
    for (const auto& sink : file["sinks"])
      if (const std::string path = sink["file"]["path"]; fs::exists(path))
        throw UsageError(fmt::format("map: {} exists; --overwrite replaces it", path));
  }
  /// As a window finds it.
  bool is_right() const {
    Problems problems;
    nlohmann::ordered_json keys{{"window", fmt::format("0/{}", o_.windows)}};
    if (!o_.warm.empty()) keys["warm"] = o_.warm;
    const Override window{"", "source", parse_document(keys.dump(), "the command line", problems).root};
    const auto loaded = load(file_.string(), {}, {&window, 1});
    check_spec(loaded->spec, catalogue(), loaded->problems);
    return !report(problems) && !report(loaded->problems);
  }
  /// Files of windows, `NAME.3-of-16…`, however many there were to be.
  std::vector<fs::path> windows_there() const {
    static const std::regex window("\\.[0-9]+-of-[0-9]+(\\.|$)");
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
      if (std::regex_search(entry.path().filename().string(), window)) found.push_back(entry.path());
    return found;
  }
  void remove_windows() const {
    for (const fs::path& window : windows_there()) fs::remove(window);
    for (std::int64_t k = 0; k < o_.windows; ++k) fs::remove(run_.log(std::to_string(k)));
    fs::remove(file_);
  }

  MapOptions o_;
  fs::path folder_, file_;
  WindowRun run_;
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
      .option("--jobs", &o->jobs, "how many run at a time on this machine (one for each CPU)", {.positive = true})
      .option("--tries", &o->tries, "how often a window is run until its results are whole (3)", {.positive = true})
      .option("--warm", &o->warm, "so much before each window, stages with a state begin: samples or a time")
      .option("--lossy", &o->lossy, "accept windows that lost samples")
      .option("--overwrite", &o->overwrite, "replace results and windows that are there")
      .option("--keep", &o->keep, "keep the windows' own results after the join")
      .option("--slurm", &o->slurm, "run the windows as an array of Slurm; all its machines see the same files")
      .option("--sbatch", &o->sbatch, "option of sbatch, as --sbatch=--partition=lab; may be repeated");
}

}  // namespace iqd
