// Recording with CUPTI: attaches at start, hands over what CUPTI buffered, detaches at stop.
//
// CUPTI's buffer callbacks have no argument of their own, so one session at a time is theirs: the
// latest that attached. A session is not to be destroyed while CUPTI may call.
//
// Threads: Start(), Stop(), Flush() and Calibrate() come one at a time, SetLevel() and
// OtherProfiler() from any thread, CUPTI's callbacks from any.
#pragma once

#include <crosscut/fork_safe_mutex.h>
#include <crosscut/plugin.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "api.h"
#include "buffers.h"
#include "calls.h"
#include "clock.h"
#include "correlation.h"
#include "library.h"
#include "metrics.h"
#include "options.h"
#include "pauses.h"
#include "records.h"

namespace crosscut::cupti {

class Session {
 public:
  explicit Session(const crosscut_host* host);
  // With a table instead of a library.
  Session(const crosscut_host* host, const Api& api);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Attaches, as Flush() may, on a thread of its own: CUPTI has taken seconds to answer, and hosts
  // do not wait so long. Returns when that is done or after kPatienceNs.
  void Start();
  // Waits for an attachment as long again; one that comes later yet undoes itself.
  void Stop();
  // Asks CUPTI for the buffers whose records are complete, waiting for no device, and hands them
  // over. Attaches where the program has loaded CUPTI since.
  void Flush();
  // 0: calls of the program cost a branch in the callback, and what they launch is left out. CUPTI
  // is not called.
  void SetLevel(uint32_t level);
  void Calibrate();
  // The program's own profilers want CUPTI, have it, or are done with it; as
  // crosscut_plugin_callbacks.other_profiler has it. When this returns, CUPTI is theirs alone: it
  // keeps none of our records, switches and callbacks, and no buffer of ours. Calls of the program
  // are heard all the while where CUPTI lets us.
  void OtherProfiler(const char* who, crosscut_profilers state, uint64_t order);

  // Waits for an attachment that is under way, at most kPatienceNs: whether there is none now.
  bool AwaitAttachment() { return AwaitAttachment(false); }
  bool is_attached() const { return attached_.load(std::memory_order_relaxed); }

 private:
  static void OnCall(void* self, CUpti_CallbackDomain, CUpti_CallbackId, const void* data);
  static void OnRequest(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void OnComplete(CUcontext, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);

  bool FindLibrary(Search search);
  static void* AttachMain(void* self);
  // The same; `abandon`: one that is not there by then is to undo itself.
  bool AwaitAttachment(bool abandon);
  void PrepareOnce();
  void Attach();
  bool Subscribe();
  bool StartRecords();
  void StopRecords();
  void TellInflation();
  bool EnableKinds();
  void EnableCalls();
  void DisableKinds();
  void Detach();
  // Pushes what CUPTI handed back. `wait`: for another thread that does.
  void Drain(bool wait);
  void CountDrops();
  void Pause(uint32_t level);
  // Start(), Stop(), Flush(), Calibrate() and OtherProfiler() take turns. False after
  // `patience_ns`.
  bool TakeTurn(int64_t patience_ns);
  void EndTurn();
  // With the turn: does what the last OtherProfiler() asked for, if that is not done yet. What came
  // while another thread had the turn for too long is done by the next one.
  void HearOfOthers();
  void StartInTurn();
  void StopInTurn();
  void BeginAttachment();
  // ---- measuring.cc
  void BeginMetrics();
  void MeasureOther(const MetricOptions& options);
  // With records_mutex_.
  void PushWindows();
  // ---- hand_over.cc: with the turn
  void Follow();
  void HandOver();
  void TakeBack();
  void ReleaseCalls();
  void HearCalls();
  // Whoever kept CUPTI's callbacks may have gone, and what we had switched on with them.
  void HearAgain();
  // Work of devices is recorded again, or never will be: tells of the time since HandOver().
  void TellAway();
  void AddAway(char* text, size_t bytes) const;
  void Tell(const char* state, const char* message);
  // The last line once more, as others may have told something of the plugin since.
  void TellAgain();
  // Tells that `function` gave `code`; for codes that end the session.
  void TellError(const char* function, CUptiResult code);
  void TellConflict(CUptiResult code);
  void TellOutcome();
  void NoteWithout(const char* what, CUptiResult code);

  static constexpr int64_t kPatienceNs = 150'000'000;
  // Of a stop, and of the program's own thread that is about to start its profiler.
  static constexpr int64_t kStopPatienceNs = 1'500'000'000, kHandOverPatienceNs = 3'000'000'000;

  const crosscut_host* const host_;
  Options options_;
  char complaint_[160];
  char inflation_[400] = {};  // why nothing is known of what CUPTI costs
  Api api_;
  ForkSafeMutex attach_mutex_;  // of the next seven
  ForkSafeCondition attach_done_, turn_free_;
  bool attaching_ = false, abandoned_ = false, has_turn_ = false;
  struct {  // by the latest OtherProfiler()
    uint64_t order = 0;
    crosscut_profilers state = CROSSCUT_PROFILERS_NONE;
    char who[40] = {};
  } asked_;
  const char* told_state_ = nullptr;
  char told_[512] = {};
  // Stop() had no turn -> EndTurn(): who has it ends the session.
  std::atomic<bool> is_over_{false};
  // From here to without_: the attaching thread's while there is one, else the caller's.
  bool has_api_ = false, started_ = false, prepared_ = false;
  std::atomic<bool> attached_{false};
  std::atomic<uint32_t> version_{0};  // also read while a slow attachment is given up
  CUpti_SubscriberHandle subscriber_ = nullptr;
  uint64_t enabled_kinds_ = 0;  // bits by kind
  char without_[256];           // what CUPTI refused
  Buffers buffers_;
  CorrelationTable launches_;
  Metrics metrics_;
  Calls calls_;
  // The program's own profilers. With the turn, or the attaching thread's.
  uint64_t order_ = 0;  // of the latest that was heard
  crosscut_profilers theirs_ = CROSSCUT_PROFILERS_NONE;
  char who_[120] = {};
  bool has_subscribed_ = false;  // in any session
  bool has_tried_ = false;       // to attach in this one
  bool is_away_ = false;         // what devices do is not recorded
  int64_t away_since_ns_ = 0, away_ns_ = 0, deaf_since_ns_ = 0, deaf_ns_ = 0, flushed_ns_ = 0;
  uint64_t hand_overs_ = 0, away_launches_ = 0, cut_calls_ = 0;
  std::atomic<uint64_t> unanswered_{0};

  std::mutex records_mutex_;  // of what follows
  Records records_;
  Clock clock_;
  int64_t drops_since_ns_ = 0;
  uint64_t drops_ = 0, lost_told_ = 0, refusals_ = 0;

  std::mutex pauses_mutex_;
  Pauses pauses_;  // on the host's clock
  std::atomic<uint64_t> late_{0}, foreign_{0};
};

}  // namespace crosscut::cupti
