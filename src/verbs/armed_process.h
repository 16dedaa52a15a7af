// One process that takes requests, as another process sees it: its ring's header, mapped. If
// somebody truncates the ring meanwhile, the process counts as ended.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/format/requests.h"
#include "src/format/ring_mapping.h"
#include "src/format/ring_search.h"

namespace crosscut::verbs {

class ArmedProcess {
 public:
  // Takes the ring's lock until this object ends. kLimit where another command holds it, kInvalid
  // where the process takes no requests, kNotFound where it has ended; these messages name the
  // process.
  static Result<std::unique_ptr<ArmedProcess>> Open(const format::RunRing& ring);
  ~ArmedProcess() = default;
  ArmedProcess(const ArmedProcess&) = delete;
  ArmedProcess& operator=(const ArmedProcess&) = delete;

  int64_t pid() const { return header()->pid; }
  std::string key() const;
  std::string run_dir() const;
  bool alive() const;
  bool recording() const;
  // Why its log can no longer be written; "" where it can.
  std::string failure() const;
  bool counts_steps() const;
  uint64_t steps() const;  // begun so far: the next one's number
  uint64_t window_begun() const;
  uint64_t window_ended() const;
  uint64_t first_step() const;
  uint64_t end_step() const;

  using Request = format::Request;
  // Whether a request of an earlier command still waits for its step. A request that waits for no
  // step has a tenth of a second to be carried out.
  bool HasWaiting() const;
  // Writes the request and wakes the process.
  void Ask(const Request& request);
  // True once the last request was answered; answer() and words() then have the answer.
  bool Answered() const;
  uint32_t answer() const;
  std::string words() const;
  // Takes the request back. False where the process has already taken it up.
  bool Withdraw();
  // Sleeps until the process answers, `ms` milliseconds at most.
  void AwaitAnswer(int ms) const;

 private:
  explicit ArmedProcess(format::RingMapping ring) : ring_(std::move(ring)) {}
  format::RingHeader* header() const { return ring_.header(); }

  format::RingMapping ring_;  // its file holds the lock
  uint32_t asked_ = 0;
};

// The rings of processes that record in `run_dir`, alive or not. Leaves out other runs' rings.
// kNotFound where `run_dir` is no run.
Result<std::vector<format::RunRing>> RingsOfRun(const std::string& run_dir);
// The ring of process `pid`. kNotFound where there is no such process; kInvalid where it has no
// ring, belongs to another user, or shows a ring that is not its own.
Result<format::RunRing> RingOfProcess(int64_t pid);

}  // namespace crosscut::verbs
