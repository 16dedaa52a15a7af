// C2: what the library exports, and what TF_InitProfiler does with the structs it is given.
#include <alloca.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "src/check/harness/barrier.h"
#include "src/check/harness/exports.h"
#include "src/check/harness/guard.h"
#include "src/check/harness/options.h"
#include "src/check/harness/tensorflow.h"
#include "src/check/harness/tf_status.h"
#include "src/check/tests.h"

namespace crosscut::check {
namespace {

void CheckExports() {
  constexpr const char* kEntryPoints[] = {
      "TF_InitProfiler", "SE_InitPlugin", "TFNPD_InitPlugin",
      "GetPjrtApi",      "TF_InitKernel", "TF_InitGraph",
      "clGetLayerInfo",  "clInitLayer",   "InitializeInjection"};
  std::string surplus;
  int count = 0;
  for (const std::string& name : ReadSymbols(options().plugin).exported) {
    if (std::any_of(std::begin(kEntryPoints), std::end(kEntryPoints),
                    [&](const char* entry) { return name == entry; })) {
      continue;
    }
    if (IsInTensorFlowsNamespace(name)) {
      Fail("C2.clash", "the library exports " + name.substr(0, 100) +
                           ": another copy of that library in the process would use it; link it "
                           "statically and hide it (-Wl,--exclude-libs,ALL or a version script)");
      return;
    }
    if (++count <= 3) surplus += (surplus.empty() ? "" : ", ") + name.substr(0, 60);
  }
  if (count == 0) return;
  Warn("C2.exports", "the library exports " + std::to_string(count) +
                         " symbols beside its entry point (" + surplus +
                         "): build with -fvisibility=hidden");
}

// The structs of one registration, each at the end of a page that nobody may write behind.
// `extra`: bytes by which the host's structs are larger than the plugin knows.
struct Registration {
  explicit Registration(size_t extra)
      : params_bytes(TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE + extra, 0),
        profiler_bytes(TP_PROFILER_STRUCT_SIZE + extra, 0),
        fns_bytes(TP_PROFILER_FNS_STRUCT_SIZE + extra, 0),
        params(reinterpret_cast<TF_ProfilerRegistrationParams*>(params_bytes.data())),
        profiler(reinterpret_cast<TP_Profiler*>(profiler_bytes.data())),
        fns(reinterpret_cast<TP_ProfilerFns*>(fns_bytes.data())) {
    params->struct_size = params_bytes.size();
    params->patch_version = TP_PATCH;
    params->profiler = profiler;
    params->profiler_fns = fns;
    profiler->struct_size = profiler_bytes.size();
    fns->struct_size = fns_bytes.size();
  }

  // Returns what the plugin set as status.
  TF_Code Init(void* handle) {
    const auto init = reinterpret_cast<InitFunction>(dlsym(handle, "TF_InitProfiler"));
    const HostStatus status;
    OnGuardTouched("C2.writes",
                   "TF_InitProfiler touches memory behind the structs it is given: fill the "
                   "members of plugin.h and nothing else");
    Guarded(Call::kInit, [&] { init(params, status.get()); });
    OnGuardTouched("", "");
    message = status.message();
    return status.code();
  }

  GuardedBytes params_bytes, profiler_bytes, fns_bytes;
  TF_ProfilerRegistrationParams* params;
  TP_Profiler* profiler;
  TP_ProfilerFns* fns;
  std::string message;
};

bool TailTouched(const GuardedBytes& bytes, size_t known) {
  return std::any_of(bytes.data() + known, bytes.data() + bytes.size(),
                     [](uint8_t byte) { return byte != 0; });
}

void CheckSurroundings(const Registration& r) {
  const bool front = r.params_bytes.FrontTouched() || r.profiler_bytes.FrontTouched() ||
                     r.fns_bytes.FrontTouched();
  const bool tail = TailTouched(r.params_bytes, TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE) ||
                    TailTouched(r.profiler_bytes, TP_PROFILER_STRUCT_SIZE) ||
                    TailTouched(r.fns_bytes, TP_PROFILER_FNS_STRUCT_SIZE);
  if (!front && !tail) return;
  FailFatally("C2.writes", std::string("TF_InitProfiler writes ") +
                               (front ? "in front of the structs" : "members that it cannot know") +
                               ": fill the members of plugin.h and nothing else");
}

// What TensorFlow would end the process for.
void CheckMembers(const Registration& r) {
  const auto want = [](bool there, const char* member) {
    if (!there) {
      FailFatally("C2.fields", std::string(member) +
                                   " is null after TF_InitProfiler: TensorFlow "
                                   "ends the process there; set it");
    }
  };
  want(r.profiler->device_type != nullptr, "profiler->device_type");
  want(r.fns->start != nullptr, "profiler_fns->start");
  want(r.fns->stop != nullptr, "profiler_fns->stop");
  want(r.fns->collect_data_xspace != nullptr, "profiler_fns->collect_data_xspace");
  want(r.params->destroy_profiler != nullptr, "params->destroy_profiler");
  want(r.params->destroy_profiler_fns != nullptr, "params->destroy_profiler_fns");
  if (r.profiler->struct_size == 0 || r.fns->struct_size == 0) {
    FailFatally("C2.fields", "a struct_size is 0 after TF_InitProfiler: leave it as it was");
  }
}

// Fills the stack that TF_InitProfiler used.
[[gnu::noinline]] void ScrubStack() {
  const size_t bytes = 256 << 10;
  memset(alloca(bytes), 0xEE, bytes);
  asm volatile("" ::: "memory");
}

void CheckType(const Registration& r) {
  if (r.profiler->device_type == nullptr) return;
  const std::string before = r.profiler->device_type;
  ScrubStack();
  if (before != r.profiler->device_type) {
    FailFatally("C2.strings",
                "device_type changes after TF_InitProfiler has returned: it must "
                "live as long as the process; use a string literal");
    return;
  }
  const bool capitals = before.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == before.npos;
  if (!before.empty() && before[0] != '_' && capitals) return;
  Fail("C2.device_type", "device_type is '" + before.substr(0, 60) +
                             "': TensorFlow ends the process unless it is a capital letter and "
                             "then capitals and underscores");
}

void CheckParams(const Registration& r, const TF_ProfilerRegistrationParams& before) {
  const bool same = r.params->struct_size == before.struct_size && r.params->ext == before.ext &&
                    r.params->profiler == before.profiler &&
                    r.params->profiler_fns == before.profiler_fns &&
                    r.params->major_version == before.major_version &&
                    r.params->minor_version == before.minor_version &&
                    r.params->patch_version == before.patch_version;
  if (same) return;
  FailFatally("C2.params",
              "TF_InitProfiler overwrites what the host put into *params (size, ext, "
              "versions or pointers): never assign to *params as a whole");
}

void* OpenOrEnd() {
  std::string why;
  void* handle = Plugin::Open(options().plugin, RTLD_NOW | RTLD_LOCAL, &why);
  if (handle == nullptr) FailToLoad(why);
  return handle;
}

// As TensorFlow and as Crosscut register: exact sizes, with the extension or without.
void RegisterExactly(bool with_push_table) {
  void* handle = OpenOrEnd();
  if (handle == nullptr) return;
  Registration r(0);
  if (with_push_table) r.params->ext = PushHost();
  const TF_ProfilerRegistrationParams before = *r.params;
  const TF_Code code = r.Init(handle);
  CheckSurroundings(r);
  CheckParams(r, before);
  if (board().fatal.load() != 0) return;
  if (code != TF_OK) {
    FailFatally("C2.status", "TF_InitProfiler set status " + std::to_string(code) + " (" +
                                 r.message +
                                 "): TensorFlow ends the process there; register "
                                 "functions that do nothing instead");
    return;
  }
  CheckMembers(r);
  CheckType(r);
}

// TensorFlow destroys copies twice while the plugin stays registered. The first sessions of all do
// the same, so that a session after it is tried, too.
void DestroyCopies() {
  const auto plugin = Plugin::Make(false);
  if (plugin == nullptr) return;
  Phase("destroying copies, as TensorFlow does at every registration");
  for (int i = 0; i < 2; ++i) plugin->Destroy();
}

// A host of another size or version: any status will do, a crash will not.
void RegisterOddly(size_t extra, const std::function<void(Registration*)>& change) {
  void* handle = OpenOrEnd();
  if (handle == nullptr) return;
  Registration r(extra);
  change(&r);
  const size_t told = r.params->struct_size;
  const TF_Code code = r.Init(handle);
  if (told >= TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE) {
    CheckSurroundings(r);
  } else if (code == TF_OK && (r.params->destroy_profiler != nullptr || r.fns->start != nullptr)) {
    Warn("C2.small", "TF_InitProfiler accepts a params->struct_size of " + std::to_string(told) +
                         " and uses members beyond it: check the size first, and register "
                         "nothing where it is too small");
  }
}

void CheckOdd(const std::string& phase, size_t extra,
              const std::function<void(Registration*)>& change) {
  Phase(phase);
  ReportEnding(InFork([&] { RegisterOddly(extra, change); }), "C2");
}

}  // namespace

void RunAbi() {
  CheckExports();
  for (const bool with : {false, true}) {
    Phase(with ? "registering with Crosscut's extension" : "registering as TensorFlow does");
    const Ending ending = InFork([&] { RegisterExactly(with); });
    ReportEnding(ending, "C2");
    if (!ending.normal()) board().fatal.store(1);
    if (board().fatal.load() != 0) return;
  }
  const Ending destroyed = InFork(DestroyCopies);
  if (!destroyed.normal()) {
    FailFatally("C2.destroy", "the plugin " + destroyed.Words() +
                                  ": TensorFlow runs the destroy functions on copies, more than "
                                  "once, before first use; leave them empty");
    return;
  }
  for (const size_t size : {size_t{0}, size_t{16}}) {
    CheckOdd("params->struct_size " + std::to_string(size), 0,
             [size](Registration* r) { r->params->struct_size = size; });
  }
  for (const size_t extra : {size_t{8}, size_t{4032}}) {
    CheckOdd("structs larger by " + std::to_string(extra), extra, [](Registration*) {});
  }
  for (const int version : {0, 1, 99}) {
    CheckOdd("a host of version " + std::to_string(version), 0, [version](Registration* r) {
      r->params->major_version = r->params->minor_version = r->params->patch_version = version;
    });
  }
}

}  // namespace crosscut::check
