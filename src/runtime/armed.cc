// A session that waits for requests from outside: how it is opened, and what it leaves behind.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/host/registry.h"
#include "src/runtime/error.h"
#include "src/runtime/session.h"
#include "src/runtime/settings.h"

namespace crosscut::record {
namespace {

// What `crosscut record` asked for; 0 where it did not.
uint64_t NumberIn(const char* variable) {
  const char* text = secure_getenv(variable);
  const uint64_t number = text == nullptr ? 0 : strtoull(text, nullptr, 10);
  return number > INT64_MAX ? 0 : number;
}

}  // namespace

int Session::Arm(const crosscut_options* options) {
  const Transition transition(this);
  int error = MayBegin(transition, options);
  if (error != CROSSCUT_OK) return error;
  if (on_demand_.armed()) return Fail(CROSSCUT_ERUNNING, "this process is armed already");
  Settings settings;
  error = FillSettings(options, kPlanOfWindows, &settings);
  if (error != CROSSCUT_OK) return error;
  if (open_) CloseLog();
  error = Open(settings);
  if (error != CROSSCUT_OK) return error;
  SetPlan(settings);
  on_demand_.LimitFirst(NumberIn("CROSSCUT_STOP_AFTER_STEPS"),
                        static_cast<int64_t>(NumberIn("CROSSCUT_STOP_AT")));
  (void)Recorder::Get().WriteMeta("armed", "1");
  WriteWhatIsKnown();
  format::RingHeader* header = rings_[ring_index_].header();
  format::RingStore<uint32_t>(header->state, format::kRingDormant);
  const int number = on_demand_.Arm(header);
  if (number != 0) return Fail(CROSSCUT_ENOMEM, "no thread: %s", strerror(number));
  if (!exit_registered_) {
    exit_registered_ = atexit([] { Session::Get().AtExit(); }) == 0;
  }
  return CROSSCUT_OK;
}

// Every window goes to the log that is open: its ring is where requests are read.
int Session::ArmedSettings(const crosscut_options* options, Settings* settings) const {
  const char* dir = options == nullptr ? nullptr : options->run_dir;
  char* asked = dir == nullptr || *dir == '\0' ? nullptr : realpath(dir, nullptr);
  const bool other =
      dir != nullptr && *dir != '\0' && (asked == nullptr || strcmp(asked, settings_.run_dir) != 0);
  free(asked);
  if (other) {
    return Fail(CROSSCUT_ERUNNING, "this process is armed to record in %.120s", settings_.run_dir);
  }
  if (access(log_path_, F_OK) != 0) {
    return Fail(CROSSCUT_EIO, "the run directory %.120s was removed", settings_.run_dir);
  }
  *settings = settings_;
  return CROSSCUT_OK;
}

int Session::OtherThreads() { return host::Registry::Get().threads() + Get().on_demand_.threads(); }

// An armed process that ends without a window has nothing to tell. A ring whose log was removed
// with its run has no reader; if the log was only moved, it holds what is in the ring.
void Session::LeaveNothing() {
  const ChunkRing& ring = rings_[ring_index_];
  if (open_ && access(log_path_, F_OK) != 0 && !ring.HasLosses() && ring.Drained()) {
    on_demand_.Disarm();
    unlink(ring_path_);
    return;
  }
  if (!on_demand_.armed()) return;
  const format::RingHeader* header = rings_[ring_index_].header();
  const bool never = format::RingLoad(header->control.window_begun) == 0;
  on_demand_.Disarm();
  if (!never || broken_.exchange(true)) return;
  unlink(log_path_);
  unlink(ring_path_);
}

}  // namespace crosscut::record
