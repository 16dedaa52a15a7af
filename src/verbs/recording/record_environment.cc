#include "src/verbs/recording/record_environment.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "src/base/lists.h"
#include "src/base/quantity.h"
#include "src/base/time.h"

namespace crosscut::verbs {
namespace {

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

class Variables {
 public:
  explicit Variables(std::vector<std::string> all) : all_(std::move(all)) {}

  std::string Get(const std::string& name) const {
    for (const std::string& variable : all_) {
      if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
    }
    return "";
  }
  void Set(const std::string& name, const std::string& value) {
    for (std::string& variable : all_) {
      if (variable.starts_with(name + "=")) {
        variable = name + "=" + value;
        return;
      }
    }
    all_.push_back(name + "=" + value);
  }
  // But for the user's own settings of plugins.
  void RemoveOurs() {
    std::erase_if(all_, [](const std::string& v) {
      return v.starts_with("CROSSCUT_") && !v.starts_with("CROSSCUT_PLUGIN") &&
             !v.starts_with("CROSSCUT_DEVICE_") && !v.starts_with("CROSSCUT_TENSORFLOW=");
    });
  }
  std::vector<std::string> Take() { return std::move(all_); }

 private:
  std::vector<std::string> all_;
};

// `list` with `item` at its front (once), or at its end. An empty entry of a list that is not empty
// itself is the current folder: it stays.
std::string With(const std::string& list, const std::string& item, bool front) {
  if (list.empty()) return item;
  std::string rest;
  for (const std::string_view part : base::Split(list, ':')) {
    if (part != item) rest.append(":").append(part);
  }
  return front ? item + rest : (rest.empty() ? "" : rest.substr(1) + ":") + item;
}

#if defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
constexpr Elf64_Half kMachine = EM_X86_64;
#endif

// The facts of an ELF file that decide whether a library can be loaded before it.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    Read(fd);
    close(fd);
  }
  bool is_elf = false, same_class = false, same_machine = false;
  bool has_interpreter = false, is_our_loader = false;
  bool has_asan = false, has_tsan = false;

 private:
  void Read(int fd) {
    Elf64_Ehdr header;
    if (pread(fd, &header, sizeof header, 0) != ssize_t{sizeof header} ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
      return;
    }
    is_elf = true;
    same_class = header.e_ident[EI_CLASS] == ELFCLASS64;
    same_machine = header.e_machine == kMachine;
    if (!same_class || header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > 256) return;
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    const size_t bytes = segments.size() * sizeof(Elf64_Phdr);
    if (pread(fd, segments.data(), bytes, header.e_phoff) != static_cast<ssize_t>(bytes)) return;
    for (const Elf64_Phdr& segment : segments) {
      if (segment.p_type == PT_INTERP) NoteLoader(fd, segment);
    }
    for (const Elf64_Phdr& segment : segments) {
      if (segment.p_type == PT_DYNAMIC) ReadDynamic(fd, segment, segments);
    }
  }

  // The GNU C library's loaders are all called ld-linux*, and only they load what links to it.
  void NoteLoader(int fd, const Elf64_Phdr& segment) {
    has_interpreter = true;
    std::string path(std::min<uint64_t>(segment.p_filesz, 4096), '\0');
    if (pread(fd, path.data(), path.size(), static_cast<off_t>(segment.p_offset)) <= 0) return;
    is_our_loader = path.compare(path.rfind('/') + 1, 8, "ld-linux") == 0;
  }

  void ReadDynamic(int fd, const Elf64_Phdr& dynamic, const std::vector<Elf64_Phdr>& segments) {
    if (dynamic.p_filesz > (1 << 20)) return;
    std::vector<Elf64_Dyn> entries(dynamic.p_filesz / sizeof(Elf64_Dyn));
    const size_t bytes = entries.size() * sizeof(Elf64_Dyn);
    if (pread(fd, entries.data(), bytes, dynamic.p_offset) != static_cast<ssize_t>(bytes)) return;
    uint64_t strings = 0, size = 0;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
    }
    for (const Elf64_Phdr& segment : segments) {
      if (segment.p_type != PT_LOAD || strings < segment.p_vaddr ||
          strings - segment.p_vaddr >= segment.p_filesz) {
        continue;
      }
      Note(fd, segment.p_offset + (strings - segment.p_vaddr), size);
    }
  }

  // Whose start the program calls, whether its library is linked in or loaded.
  void Note(int fd, uint64_t offset, uint64_t size) {
    std::string names(std::min(size, kMostNames), '\0');
    const ssize_t got = pread(fd, names.data(), names.size(), static_cast<off_t>(offset));
    names.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    const auto has = [&](std::string_view name) { return names.find(name) != std::string::npos; };
    has_asan = has_asan || has(std::string_view("\0__asan_init\0", 13));
    has_tsan = has_tsan || has(std::string_view("\0__tsan_init\0", 13));
  }
  static constexpr uint64_t kMostNames = 64 << 20;
};

// Paths become absolute: the program may go elsewhere before it loads them.
void SetPlugins(const RecordOptions& options, Variables& variables) {
  std::vector<std::string> plugins = {variables.Get("CROSSCUT_PLUGINS")};
  for (const std::string& plugin : options.plugins) {
    const size_t comma = std::min(plugin.find(','), plugin.size());
    std::error_code error;
    const auto path = std::filesystem::absolute(plugin.substr(0, comma), error);
    plugins.push_back(plugin == kTensorFlowPlugins ? plugin : path.string() + plugin.substr(comma));
  }
  const std::string list = base::Joined(plugins, ":");
  if (!list.empty()) variables.Set("CROSSCUT_PLUGINS", list);
  if (!options.device_type.empty()) variables.Set("CROSSCUT_DEVICE_TYPE", options.device_type);
  if (options.device_tracer_level != 1) {
    variables.Set("CROSSCUT_DEVICE_TRACER_LEVEL", std::to_string(options.device_tracer_level));
  }
}

// Whether the list of sources, "" for all, has `name`.
bool Wanted(const std::string& sources, std::string_view name) {
  const std::vector<std::string_view> names = base::Split(sources, ',');
  return sources.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

// The OpenCL loader calls the layers of its list from the last one to the first: ours is the last
// but for the driver, so that the user's own layers see what the program does.
void SetOpenCl(const RecordOptions& options, const std::string& library, Variables& variables) {
  const bool in_lists = library.find_first_of(":,") == std::string::npos;
  if (library.empty() || !in_lists || !Wanted(options.sources, "opencl")) return;
  if (options.dormant) return;  // a layer is in every call from its process's first one on
  variables.Set("OPENCL_LAYERS", With(variables.Get("OPENCL_LAYERS"), library, true));
  variables.Set("CROSSCUT_PLUGINS", With(variables.Get("CROSSCUT_PLUGINS"), library, false));
}

// Only where there is an NVIDIA driver: elsewhere there is nothing to say of it. A plugin that was
// not built is named all the same, so that the run tells what is missing.
void SetCupti(const RecordOptions& options, const PackageLayout& package, Variables& variables) {
  const bool in_list = package.cupti.find_first_of(":,") == std::string::npos;
  if (!package.nvidia || !in_list || !Wanted(options.sources, "cupti")) return;
  variables.Set("CROSSCUT_PLUGINS", With(variables.Get("CROSSCUT_PLUGINS"), package.cupti, false));
}

// An end of the recording makes the first window one of an armed process.
void SetStop(const RecordOptions& options, Variables& variables) {
  if (options.stop_after_steps > 0) {
    variables.Set("CROSSCUT_STOP_AFTER_STEPS", std::to_string(options.stop_after_steps));
  }
  if (options.stop_after_seconds > 0) {
    const auto after = static_cast<int64_t>(options.stop_after_seconds * 1e9);
    variables.Set("CROSSCUT_STOP_AT", std::to_string(base::MonotonicNs() + after));
  }
}

// What the recorded process itself sets later (src/runtime, and _plugins.py, _sources.py and
// adapters/torch.py of python/crosscut) has its place already. A variable that is new may move the
// C library's table while another thread reads it: a plugin's, OpenMP's.
void HoldPlaces(Variables& variables) {
  std::error_code error;
  const std::string here = std::filesystem::current_path(error);
  variables.Set("CROSSCUT_FOLDERS", here.find('\n') == here.npos ? here + "\n" : "");
  for (const char* name : {"CROSSCUT_PARENT", "CROSSCUT_PLUGINS", "CROSSCUT_PLUGINS_COMPLETE",
                           "CROSSCUT_TENSORFLOW", "CROSSCUT_TOLD"}) {
    variables.Set(name, variables.Get(name));
  }
}

std::string NumberText(double number) {
  char text[32];
  base::WriteNumber(number, text, sizeof text);
  return text;
}

void SetOptions(const RecordOptions& options, Variables& variables) {
  variables.RemoveOurs();
  variables.Set("CROSSCUT_RUN", options.run_dir);
  if (!options.python.empty()) variables.Set("CROSSCUT_PYTHON", options.python);
  if (options.sample_rate > 0) {
    variables.Set("CROSSCUT_SAMPLE_RATE", std::to_string(options.sample_rate));
  }
  variables.Set("CROSSCUT_SEED", std::to_string(options.seed));
  if (!options.sources.empty()) variables.Set("CROSSCUT_SOURCES", options.sources);
  if (options.allocations) variables.Set("CROSSCUT_ALLOCATIONS", "1");
  if (options.memory_mib > 0) variables.Set("CROSSCUT_MEMORY", std::to_string(options.memory_mib));
  if (options.control_percent >= 0) {
    variables.Set("CROSSCUT_CONTROL_STEPS", NumberText(options.control_percent));
  }
  if (options.shapes) variables.Set("CROSSCUT_SHAPES", "1");
  if (options.scalars) variables.Set("CROSSCUT_SCALARS", "1");
  if (!options.plan.empty()) variables.Set("CROSSCUT_PLAN", options.plan);
  if (!options.budget.empty()) variables.Set("CROSSCUT_BUDGET", options.budget);
  SetStop(options, variables);
  const bool stops = options.stop_after_steps > 0 || options.stop_after_seconds > 0;
  if (options.dormant || options.keep_seconds > 0 || stops) {
    variables.Set("CROSSCUT_DORMANT", options.dormant ? "1" : "0");
  }
  if (options.keep_seconds > 0) variables.Set("CROSSCUT_KEEP", NumberText(options.keep_seconds));
  // One a line: a regular expression may hold any other character.
  if (!options.wrap.empty()) variables.Set("CROSSCUT_WRAP", base::Joined(options.wrap, "\n"));
  SetPlugins(options, variables);
  for (const auto& [name, value] : options.environment) variables.Set(name, value);
}

// Sources that the user names and that cannot be had. Those of frameworks are known only when the
// program imports one.
void TellMissing(const RecordOptions& options, const PackageLayout& package,
                 std::vector<std::string>* problems) {
  if (options.sources.empty()) return;
  if (Wanted(options.sources, "cupti") && !package.nvidia) {
    problems->push_back(
        "source cupti: this machine has no NVIDIA driver (/dev/nvidiactl), so nothing of it is "
        "recorded");
  }
  if (Wanted(options.sources, "opencl") && package.opencl.empty()) {
    problems->push_back(
        "source opencl: this Crosscut was built without it, so nothing of it is recorded");
  }
}

}  // namespace

std::string ThisProgram() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length > 0) return std::string(path, static_cast<size_t>(length));
  const auto* named = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  char* real = named == nullptr ? nullptr : realpath(named, nullptr);
  const std::string found = real == nullptr ? "" : real;
  free(real);
  return found;
}

PackageLayout FindPackage(const std::string& executable) {
  PackageLayout layout;
  const size_t folder = executable.rfind('/');
  const size_t root = folder == std::string::npos || folder == 0
                          ? std::string::npos
                          : executable.rfind('/', folder - 1);
  if (root == std::string::npos) return layout;
  layout.root = executable.substr(0, root);
  if (Exists(layout.root + "/inject/sitecustomize.py")) layout.inject = layout.root + "/inject";
  const std::string preload = layout.root + "/lib/libcrosscut_preload.so";
  if (Exists(preload)) layout.preload = preload;
  const std::string opencl = layout.root + "/lib/libcrosscut_opencl.so";
  if (Exists(opencl)) layout.opencl = opencl;
  layout.cupti = layout.root + "/plugins/cupti/libcrosscut_cupti.so";
  layout.nvidia = Exists("/dev/nvidiactl") || Exists("/dev/dxg");
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(layout.root + "/lib/plugins", error)) {
    if (entry.path().extension() == ".so") layout.installed.push_back(entry.path().string());
  }
  std::sort(layout.installed.begin(), layout.installed.end());
  return layout;
}

std::string OwnPlugin(const PackageLayout& package, std::string_view name) {
  for (const std::string& file : {package.cupti, package.opencl}) {
    if (Exists(file) && file.ends_with("/" + std::string(name))) return file;
  }
  return "";
}

PreparedEnvironment PrepareEnvironment(const std::vector<std::string>& current,
                                       const RecordOptions& options, const PackageLayout& package,
                                       const std::string& obstacle) {
  Variables variables(current);
  PreparedEnvironment out;
  SetOptions(options, variables);
  SetOpenCl(options, package.opencl, variables);
  SetCupti(options, package, variables);
  TellMissing(options, package, &out.problems);
  for (const std::string& plugin : package.installed) {
    variables.Set("CROSSCUT_PLUGINS", With(variables.Get("CROSSCUT_PLUGINS"), plugin, false));
  }
  if (package.inject.empty()) {
    out.problems.push_back(
        "the injected files are missing beside this program: Python programs "
        "will not be recorded unless they import crosscut");
  } else if (package.inject.find(':') != std::string::npos) {
    out.problems.push_back(
        "Crosscut is installed below a folder with ':' in its name: Python "
        "programs cannot be recorded");
  } else {
    variables.Set("PYTHONPATH", With(variables.Get("PYTHONPATH"), package.inject, true));
  }
  // The loader splits LD_PRELOAD at spaces and colons, without any quoting.
  const bool preloadable = !package.preload.empty() &&
                           package.preload.find_first_of(": ") == std::string::npos &&
                           obstacle.find("Sanitizer") == std::string::npos &&
                           obstacle.find("processor") == std::string::npos &&
                           obstacle.find("loader") == std::string::npos;
  if (preloadable) {
    variables.Set("LD_PRELOAD", With(variables.Get("LD_PRELOAD"), package.preload, false));
  }
  HoldPlaces(variables);
  out.variables = variables.Take();
  return out;
}

std::string FindInPath(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return Exists(name) ? name : "";
  for (const std::string_view folder : base::Split(path, ':')) {
    const std::string file = std::string(folder.empty() ? "." : folder) + "/" + name;
    struct stat facts;
    if (stat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
        access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return "";
}

std::string ObstacleOf(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return "";
  if ((facts.st_mode & S_ISUID) != 0 && facts.st_uid != geteuid()) return "is setuid";
  if ((facts.st_mode & S_ISGID) != 0 && facts.st_gid != getegid()) return "is setgid";
  char capability[64];
  if (getxattr(path.c_str(), "security.capability", capability, sizeof capability) > 0) {
    return "has file capabilities";
  }
  if (access(path.c_str(), R_OK) != 0) return "is not readable";
  const ElfFile elf(path);
  if (!elf.is_elf) return "";
  if (!elf.same_class) return "is a 32-bit program, for another processor than our library";
  if (!elf.same_machine) return "is for another processor";
  if (!elf.has_interpreter) return "is statically linked";
  if (!elf.is_our_loader) return "is loaded by another C library's loader";
  if (elf.has_tsan)
    return "is built with ThreadSanitizer, which takes our library for the program's";
  if (elf.has_asan) return "is built with AddressSanitizer, which refuses preloaded libraries";
  return "";
}

}  // namespace crosscut::verbs
