#include "src/check/harness/driver.h"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/check/harness/barrier.h"
#include "src/check/harness/options.h"
#include "src/check/harness/tensorflow.h"
#include "src/check/harness/tf_status.h"
#include "src/check/harness/xspace_rules.h"

namespace crosscut::check {
namespace {

constexpr uint64_t kPortion = 10'000;  // pieces of work
constexpr size_t kSlack = 4096;        // behind buffers, where no guard page is wanted

using WorkFunction = int (*)(uint64_t pieces);
WorkFunction work_function = nullptr;
char mock_work[64] = "";

template <class Function>
TF_Code Called(Call call, std::string* message, Function function) {
  const HostStatus status;
  Guarded(call, [&] { function(status.get()); });
  *message = status.message();
  return status.code();
}

}  // namespace

void* Plugin::Open(const std::string& path, int flags, std::string* why) {
  void* handle = nullptr;
  std::string error;
  Guarded(Call::kLoad, [&] {
    handle = dlopen(path.c_str(), flags);
    if (handle == nullptr) error = dlerror();
  });
  *why = error;
  return handle;
}

void FailToLoad(const std::string& why) {
  const TensorFlow& tensorflow = options().tensorflow;
  if (!LacksTensorFlow(why)) {
    FailFatally("C1.loads",
                why + ": link every library that the plugin needs, and find them by $ORIGIN");
  } else if (tensorflow.folder.empty()) {
    FailFatally("C1.tensorflow", why + ": this is TensorFlow's");
  } else if (tensorflow.libpython.empty() && why.starts_with("_pywrap_tensorflow_")) {
    FailFatally("C1.loads", why +
                                ": it needs Python's shared library, which this Python does not "
                                "have: name one that has it (--python PATH)");
  } else {
    FailFatally("C1.loads", why + ": " + tensorflow.folder +
                                " does not have it: name the Python whose TensorFlow the plugin "
                                "is built for (--python PATH)");
  }
}

std::unique_ptr<Plugin> Plugin::Make(bool with_push_table) {
  std::string why;
  auto plugin = std::make_unique<Plugin>();
  plugin->handle_ = Open(options().plugin, RTLD_NOW | RTLD_LOCAL, &why);
  if (plugin->handle_ == nullptr) {
    FailToLoad(why);
    return nullptr;
  }
  const auto init = reinterpret_cast<InitFunction>(dlsym(plugin->handle_, "TF_InitProfiler"));
  if (init == nullptr) {
    FailFatally("C1.entry", "no symbol TF_InitProfiler");
    return nullptr;
  }
  plugin->with_push_table_ = with_push_table;
  plugin->profiler_.struct_size = TP_PROFILER_STRUCT_SIZE;
  plugin->fns_.struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  TF_ProfilerRegistrationParams& params = plugin->params_;
  params.struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params.ext = with_push_table ? PushHost() : nullptr;
  params.patch_version = TP_PATCH;
  params.profiler = &plugin->profiler_;
  params.profiler_fns = &plugin->fns_;
  const TF_Code code =
      Called(Call::kInit, &plugin->message_, [&](TF_Status* status) { init(&params, status); });
  if (code != TF_OK || plugin->fns_.start == nullptr || plugin->fns_.stop == nullptr ||
      plugin->fns_.collect_data_xspace == nullptr) {
    FailFatally("C2.status", "TF_InitProfiler did not register: " + plugin->message_);
    return nullptr;
  }
  return plugin;
}

TF_Code Plugin::Start() {
  auto copy = std::make_unique<TP_Profiler>(profiler_);
  if (session_ != nullptr) memset(session_.get(), 0xDD, sizeof *session_);
  session_ = std::move(copy);
  return Called(Call::kStart, &message_, [&](TF_Status* s) { fns_.start(session_.get(), s); });
}

TF_Code Plugin::Stop() {
  if (session_ == nullptr) session_ = std::make_unique<TP_Profiler>(profiler_);
  return Called(Call::kStop, &message_, [&](TF_Status* s) { fns_.stop(session_.get(), s); });
}

TF_Code Plugin::Query(size_t* size) {
  if (session_ == nullptr) session_ = std::make_unique<TP_Profiler>(profiler_);
  *size = kGarbageSize;
  return Called(Call::kQuery, &message_,
                [&](TF_Status* s) { fns_.collect_data_xspace(session_.get(), nullptr, size, s); });
}

TF_Code Plugin::Fetch(uint8_t* buffer, size_t* size) {
  return Called(Call::kFetch, &message_,
                [&](TF_Status* s) { fns_.collect_data_xspace(session_.get(), buffer, size, s); });
}

void Plugin::Destroy() {
  TP_Profiler profiler = profiler_;
  TP_ProfilerFns fns = fns_;
  Guarded(Call::kDestroy, [&] {
    if (params_.destroy_profiler != nullptr) params_.destroy_profiler(&profiler);
    if (params_.destroy_profiler_fns != nullptr) params_.destroy_profiler_fns(&fns);
  });
}

void Plugin::Flush() {
  const crosscut_plugin_callbacks callbacks = PushCallbacks();
  if (!with_push_table_ || callbacks.flush == nullptr) return;
  Guarded(Call::kFlush, [&] { callbacks.flush(callbacks.self); });
}

bool OpenWorkLibrary(std::string* why) {
  if (options().work.empty()) return true;
  void* handle = dlopen(options().work.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle != nullptr) {
    work_function = reinterpret_cast<WorkFunction>(dlsym(handle, "crosscut_work"));
  }
  if (work_function != nullptr) return true;
  const char* error = dlerror();
  *why = error == nullptr ? options().work + " has no crosscut_work" : error;
  return false;
}

void WorkNow(uint64_t pieces) {
  if (work_function == nullptr) return;
  // In portions: a call that does very much is not one that hangs.
  while (pieces > 0) {
    const uint64_t portion = std::min(pieces, kPortion);
    Guarded(Call::kWork, [portion] { work_function(portion); });
    pieces -= portion;
  }
}

void WorkUnwatched(uint64_t pieces) {
  if (work_function != nullptr) work_function(pieces);
}

bool HasWorkLibrary() { return work_function != nullptr; }

void SetMockWork(uint64_t pieces) {
  // One string that is changed in place: setenv() would leak at every session.
  const bool first = mock_work[0] == 0;
  snprintf(mock_work, sizeof mock_work, "CROSSCUT_PLUGIN_MOCK_WORK=%llu",
           static_cast<unsigned long long>(pieces));
  if (first) putenv(mock_work);
}

std::string Session::WhatFailed(const std::string& message) const {
  const std::string words = message.empty() ? "" : " (" + message + ")";
  const auto text = [&](const char* call, TF_Code code) {
    return std::string(call) + " set status " + std::to_string(code) + words;
  };
  if (start != TF_OK) return text("start", start);
  if (stop != TF_OK) return text("stop", stop);
  if (query != TF_OK) return text("collect_data_xspace (null buffer)", query);
  if (fetch != TF_OK) return text("collect_data_xspace (buffer)", fetch);
  return "";
}

void StopAndCollect(Plugin* plugin, const SessionPlan& plan, Session* session) {
  int64_t before = MonotonicNs();
  plugin->Flush();
  session->stop = plugin->Stop();
  session->stop_ns = MonotonicNs() - before;
  EndPushSession();
  session->end_ns = RealtimeNs();
  session->pushed = Pushed();
  if (session->stop != TF_OK || plan.collect == Collect::kNone) return;
  before = MonotonicNs();
  session->query = plugin->Query(&session->size);
  if (session->query == TF_OK && session->size == kGarbageSize) {
    Warn("C7.unset",
         "collect_data_xspace did not write *size when asked with a null buffer: it "
         "holds garbage on entry; write 0 where there is nothing");
    session->size = 0;
  }
  if (session->size > kMaxSpaceBytes) {
    FailFatally("C7.huge", "collect_data_xspace asks for " + std::to_string(session->size) +
                               " bytes: no host can take more than 2 GiB - 1; bound the buffer "
                               "and count what is dropped");
    session->size = 0;
  }
  if (session->query != TF_OK || session->size == 0 || plan.collect == Collect::kQueryOnly) return;
  session->bytes.assign(session->size + kSlack, '\0');
  session->fetched = session->size;
  session->fetch =
      plugin->Fetch(reinterpret_cast<uint8_t*>(session->bytes.data()), &session->fetched);
  session->bytes.resize(session->fetch == TF_OK ? session->size : 0);
  session->collect_ns = MonotonicNs() - before;
}

Session RunSession(Plugin* plugin, const SessionPlan& plan) {
  Session session;
  SetMockWork(plan.work);
  BeginPushSession();
  session.begin_ns = RealtimeNs();
  const int64_t before = MonotonicNs();
  session.start = plugin->Start();
  session.start_ns = MonotonicNs() - before;
  if (session.start != TF_OK) {
    EndPushSession();
    return session;
  }
  WorkNow(plan.work);
  if (plan.sleep_ns > 0) {
    const timespec nap = {plan.sleep_ns / 1'000'000'000, plan.sleep_ns % 1'000'000'000};
    nanosleep(&nap, nullptr);
  }
  StopAndCollect(plugin, plan, &session);
  return session;
}

}  // namespace crosscut::check
