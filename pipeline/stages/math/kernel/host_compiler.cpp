// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/host_compiler.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/files/file_cache.hpp"
#include "base/log.hpp"
#include "pipeline/stages/math/kernel/texts.hpp"

namespace iqd::kernel {
namespace {

namespace fs = std::filesystem;

/// Products and sums are rounded as on a GPU: they are fused only if the text says so.
std::vector<std::string> options() {
  std::vector<std::string> all{"-x",
                               "c++",
                               "-std=c++20",
                               "-O3",
                               "-ffp-contract=off",
                               "-fno-math-errno",
                               "-fno-trapping-math",
                               "-Werror=return-type",
                               "-fPIC",
                               "-shared",
                               "-fvisibility=hidden",
                               "-Wl,--no-undefined"};
#ifdef __x86_64__
  all.insert(all.begin() + 4, "-march=native");
#endif
  return all;
}

class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "iqd-kernel-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr)
      throw SetupError(fmt::format("cannot create {} for the compiler's files: {}; set $TMPDIR to another folder", name,
                                   std::strerror(errno)));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

/// This process's environment, with messages in English.
std::vector<std::string> english_environment() {
  std::vector<std::string> all{"LC_ALL=C"};
  for (char** v = environ; *v != nullptr; ++v)
    if (!std::string_view(*v).starts_with("LC_ALL=")) all.emplace_back(*v);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& t : texts) all.push_back(t.data());
  all.push_back(nullptr);
  return all;
}

/// Templates can keep a compiler busy without end. Its children inherit the limits.
void limit(pid_t child) noexcept {
  const auto set = [child](__rlimit_resource what, rlim_t most) {
    const rlimit limit{most, most};
    ::prlimit(child, what, &limit, nullptr);
  };
  set(RLIMIT_CPU, 60);
  set(RLIMIT_AS, rlim_t{4} << 30);
  set(RLIMIT_FSIZE, rlim_t{256} << 20);
}

/// Runs the command to its end, with its output in a file. True if it succeeded. Throws SetupError if it cannot run.
bool run(std::vector<std::string> command, const std::string& log) {
  std::vector<std::string> environment = english_environment();
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(&files, 1, 2);
  // The daemon's threads block signals that a compiler must receive.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const std::string program = command.front();
  const int error = ::posix_spawn(&child, program.c_str(), &files, &attributes, pointers(command).data(),
                                  pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw SetupError(fmt::format("cannot start the compiler {}: {}", program, std::strerror(error)));
  limit(child);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw SetupError(fmt::format("the compiler {}: {}", program, std::strerror(errno)));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

[[noreturn]] void no_file(const std::string& path) {
  throw SetupError(fmt::format("the compiler's file {}: {}", path, std::strerror(errno)));
}

std::vector<char> content_of(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) no_file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) no_file(path);
}

/// Identifies the CPU: code for one may not run on another, and a network folder may serve several hosts.
std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  std::string text;
  for (std::string line; std::getline(info, line) && !line.empty();)
    if (line.starts_with("flags") || line.starts_with("Features") || line.starts_with("model")) text += line + "\n";
  return text;
}

/// Changes if the compiler is updated.
std::string version_of(const std::string& compiler) {
  std::error_code error;
  const fs::path file = fs::canonical(compiler, error);
  return fmt::format("{} {} {}", file.string(), fs::file_size(file, error),
                     fs::last_write_time(file, error).time_since_epoch().count());
}

/// Returns the shared object; if the text is wrong, returns nothing and sets the messages.
std::vector<char> compile(std::vector<std::string> command, const std::string& text, const Program& program,
                          std::vector<Message>& messages) {
  const ScratchFolder folder;
  write_file(folder / "kernel.cpp", text);
  for (std::string& option : options()) command.push_back(std::move(option));
  for (std::string option : {"-I" + program.folder, std::string("-o"), folder / "kernel.so", folder / "kernel.cpp"})
    command.push_back(std::move(option));
  if (run(command, folder / "log")) return content_of(folder / "kernel.so");
  const std::vector<char> log = content_of(folder / "log");
  messages = errors_in({log.data(), log.size()});
  return {};
}

/// Null if there is none, or it cannot be loaded on this system.
std::shared_ptr<const HostCode> load_kept(const FileCache& cache, const std::string& key) try {
  const std::optional<std::vector<char>> object = cache.find(key);
  return object ? std::make_shared<const HostCode>(*object) : nullptr;
} catch (const SetupError&) {
  return nullptr;
}

void keep(const FileCache& cache, const std::string& key, const std::vector<char>& object) {
  static std::once_flag warned;
  if (const std::string why = cache.keep(key, object); !why.empty())
    std::call_once(warned, [&] { log::warn("cannot cache compiled kernels: {}", why); });
}

}  // namespace

HostCode::HostCode(const std::vector<char>& object) : file_(::memfd_create("iqd-kernel", MFD_CLOEXEC)) {
  // In memory: what was checked is what is loaded, and it works if all folders are mounted noexec. The file stays open:
  // a library is known by its name, so no other library may get this one's name while it is loaded.
  const bool written = file_ >= 0 && ::write(file_, object.data(), object.size()) == std::ssize(object);
  if (written) library_ = ::dlopen(fmt::format("/proc/self/fd/{}", file_).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = library_ ? ::dlsym(library_, "iqd_kernel_apply") : nullptr;
  if (found) {
    name_culprits();
    std::memcpy(&apply_, &found, sizeof apply_);
    return;
  }
  const char* why = written ? ::dlerror() : std::strerror(errno);
  const std::string text = fmt::format("cannot load a compiled kernel: {}", why ? why : "no reason given");
  if (library_) ::dlclose(library_);
  if (file_ >= 0) ::close(file_);
  throw SetupError(text);
}

HostCode::~HostCode() {
  ::dlclose(library_);
  ::close(file_);
}

std::vector<std::string> host_compiler() {
  const char* named = std::getenv("CXX");
  std::stringstream words(named && *named ? named : "c++");
  std::vector<std::string> command{std::istream_iterator<std::string>(words), {}};
  if (command.empty()) command.emplace_back("c++");
  command.front() = find_program(command.front());
  return command.front().empty() ? std::vector<std::string>{} : command;
}

std::shared_ptr<const HostCode> compile_for_host(const Program& program, std::vector<Message>& messages) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const HostCode>> loaded;  // this process's kernels
  const std::vector<std::string> command = host_compiler();
  if (command.empty()) throw SetupError(kNoCompiler);
  const std::string text = host_text(program);
  std::string all;
  for (const std::string& word : command) all += word + '\0';
  for (const std::string& word : options()) all += word + '\0';
  const std::string key = content_key({text, program.folder, all, version_of(command.front()), processor()}) + ".so";
  const std::lock_guard lock(mutex);
  if (const auto at = loaded.find(key); at != loaded.end()) return at->second;
  const fs::path folder = cache_folder();
  const FileCache cache(folder.empty() ? folder : folder / "host");
  std::shared_ptr<const HostCode> code = load_kept(cache, key);
  if (!code) {
    const std::vector<char> object = compile(command, text, program, messages);
    if (object.empty()) return nullptr;
    code = std::make_shared<const HostCode>(object);
    keep(cache, key, object);
  }
  return loaded[key] = std::move(code);
}

}  // namespace iqd::kernel
