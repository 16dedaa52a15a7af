#include "recorder.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "crosscut/crosscut.h"

namespace crosscut::tensorflow {
namespace {

template <class Function>
bool Look(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

void* OpenRecorder() {
  void* library = dlopen("libcrosscut.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library != nullptr) return library;
  const std::string package = PackageFolder();
  if (package.empty()) return nullptr;
  return dlopen((package + "/lib/libcrosscut.so.1").c_str(), RTLD_NOW);
}

std::string Above(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string FirstLine(const std::string& path) {
  char line[4096];
  FILE* file = fopen(path.c_str(), "re");
  if (file == nullptr) return "";
  const bool read = fgets(line, sizeof line, file) != nullptr;
  fclose(file);
  std::string text = read ? line : "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Imports nothing that the program could miss, and keeps its own failures to itself.
constexpr const char* kActivate =
    "try:\n"
    "    import crosscut._sources\n"
    "    crosscut._sources.activate_boundary()\n"
    "except Exception:\n"
    "    pass\n";

}  // namespace

std::string PackageFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&PackageFolder), &info) == 0) return "";
  char* path = realpath(info.dli_fname, nullptr);
  if (path == nullptr) return "";
  const std::string folder = Above(path);
  free(path);
  const std::string told = FirstLine(folder + "/libcrosscut_tensorflow.package");
  return told.empty() ? Above(folder) : told;
}

const Recorder* Recorder::Find() {
  static Recorder recorder;
  static const bool found = recorder.Load();
  return found ? &recorder : nullptr;
}

bool Recorder::Load() {
  void* library = OpenRecorder();
  return library != nullptr && Look(library, "crosscut_start", &start_) &&
         Look(library, "crosscut_stop", &stop_) && Look(library, "crosscut_active", &active_) &&
         Look(library, "crosscut_sessions", &sessions_) &&
         Look(library, "crosscut_plugins_finish", &plugins_finish_);
}

uint32_t Recorder::Start(const std::string& folder) const {
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.run_dir = folder.c_str();
  options.plan = "full";
  options.control_percent = 0;  // a window is too short to check its cost
  return start_(&options) == CROSSCUT_OK ? sessions_() : 0;
}

void Recorder::Stop(uint32_t session) const {
  if (Active() && sessions_() == session) stop_();
}
void Recorder::FinishPlugins() const {
  if (!Active()) plugins_finish_();
}
bool Recorder::Active() const { return active_() != 0; }

// As crosscut/in_python.h, of which this library, linked to no Python, can use nothing.
void ActivatePython() {
  int (*initialized)() = nullptr;
  int (*ends)() = nullptr;
  int (*ensure)() = nullptr;
  void (*release)(int) = nullptr;
  int (*run)(const char*, void*) = nullptr;
  void (*fetch)(void**, void**, void**) = nullptr;
  void (*restore)(void*, void*, void*) = nullptr;
  if (!Look(RTLD_DEFAULT, "Py_IsInitialized", &initialized) || initialized() == 0) return;
  if (!(Look(RTLD_DEFAULT, "Py_IsFinalizing", &ends) ||
        Look(RTLD_DEFAULT, "_Py_IsFinalizing", &ends)) ||
      ends() != 0 || !Look(RTLD_DEFAULT, "PyGILState_Ensure", &ensure) ||
      !Look(RTLD_DEFAULT, "PyGILState_Release", &release) ||
      !Look(RTLD_DEFAULT, "PyErr_Fetch", &fetch) ||
      !Look(RTLD_DEFAULT, "PyErr_Restore", &restore) ||
      !Look(RTLD_DEFAULT, "PyRun_SimpleStringFlags", &run)) {
    return;
  }
  const int state = ensure();
  void *type = nullptr, *value = nullptr, *traceback = nullptr;
  fetch(&type, &value, &traceback);
  run(kActivate, nullptr);
  restore(type, value, traceback);
  release(state);
}

}  // namespace crosscut::tensorflow
