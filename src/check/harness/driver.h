// Drives a plugin as a host does, with nothing in between: every call goes straight in, through the
// barrier. What a real host would never do is possible here, because tests do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crosscut/plugin.h"
#include "src/check/harness/push_host.h"

namespace crosscut::check {

using InitFunction = void (*)(TF_ProfilerRegistrationParams*, TF_Status*);

// A plugin that was loaded and registered. It is never unloaded.
class Plugin {
 public:
  // The library, or null with `*why` set.
  static void* Open(const std::string& path, int flags, std::string* why);

  // Loads the file of options() and registers it, with the push table or without. Null where that
  // fails: then a finding of C2 was made, or C1.
  static std::unique_ptr<Plugin> Make(bool with_push_table);

  // One call each; what the plugin set as status, TF_OK mostly. Start() gives the session a copy
  // of TP_Profiler of its own, as TensorFlow does.
  TF_Code Start();
  TF_Code Stop();
  // `*size` holds garbage on entry, as in TensorFlow.
  TF_Code Query(size_t* size);
  TF_Code Fetch(uint8_t* buffer, size_t* size);
  // The two destroy functions on copies.
  void Destroy();
  // The flush callback, where the plugin has one.
  void Flush();

  const TP_Profiler& profiler() const { return profiler_; }
  void* handle() const { return handle_; }
  const TP_ProfilerFns& fns() const { return fns_; }
  const std::string& message() const { return message_; }

 private:
  TP_Profiler profiler_ = {};
  TP_ProfilerFns fns_ = {};
  TF_ProfilerRegistrationParams params_ = {};
  std::unique_ptr<TP_Profiler> session_;  // the copy of the session
  void* handle_ = nullptr;
  bool with_push_table_ = false;
  std::string message_;  // of the last status
};

// The finding of a plugin that could not be opened: C1.loads, or C1.tensorflow where TensorFlow's
// libraries are what it lacks and they are not loaded.
void FailToLoad(const std::string& why);

constexpr size_t kGarbageSize = 0x5A5A5A5A5A5A5A5A;

// Makes the device do `pieces` pieces of work: by the work library, where the user named one.
// Threads: any.
void WorkNow(uint64_t pieces);
// The same without the barrier, for loops that are timed. Does nothing without a library.
void WorkUnwatched(uint64_t pieces);
bool HasWorkLibrary();
// How much a mock device inside the plugin is to do in each session from its next start on: the
// option mock_work, CROSSCUT_PLUGIN_MOCK_WORK.
void SetMockWork(uint64_t pieces);
// Opens the work library; false where there is one that cannot be opened.
bool OpenWorkLibrary(std::string* why);

enum class Collect { kNone, kQueryOnly, kFull };

struct SessionPlan {
  uint64_t work = 0;
  Collect collect = Collect::kFull;
  int64_t sleep_ns = 0;  // between start and stop
};

// What one session gave.
struct Session {
  TF_Code start = TF_OK, stop = TF_OK, query = TF_OK, fetch = TF_OK;
  size_t size = 0;                                    // of the query
  size_t fetched = 0;                                 // *size after the fetch
  std::string bytes;                                  // of the fetch, `size` of them
  int64_t begin_ns = 0, end_ns = 0;                   // CLOCK_REALTIME before start and after stop
  int64_t start_ns = 0, stop_ns = 0, collect_ns = 0;  // how long the calls took
  PushTally pushed;
  bool ok() const { return start == TF_OK && stop == TF_OK && query == TF_OK && fetch == TF_OK; }
  bool output() const { return !bytes.empty() || pushed.spans > 0; }
  // "stop gave status 9 (busy)", "" where ok().
  std::string WhatFailed(const std::string& message) const;
};

Session RunSession(Plugin* plugin, const SessionPlan& plan);
// From stop on: the session is running and its work done.
void StopAndCollect(Plugin* plugin, const SessionPlan& plan, Session* session);

}  // namespace crosscut::check
