// For tests of start, stop and snapshot: a ring of this process, mapped as its owner maps it, and a
// thread that does what docs/on-demand.md asks of an armed process. It is written by that page, not
// by src/runtime.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "src/base/process.h"
#include "src/format/requests.h"
#include "src/format/ring.h"

namespace crosscut::verbs {

class ArmedRing {
 public:
  // In the run directory; its process is called "p<nonce>" there. `self`: whose it is.
  ArmedRing(const std::string& run_dir, uint64_t nonce,
            const base::ProcessIdentity& self = base::ThisProcess())
      : path_(format::RingPath(run_dir, self.pid, nonce)) {
    struct stat run;
    if (stat(run_dir.c_str(), &run) != 0) return;
    const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (ftruncate(fd, format::kRingHeaderBytes) != 0) return;
    void* page = mmap(nullptr, format::kRingPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    header_ = static_cast<format::RingHeader*>(page);
    header_->version = 1;
    header_->header_bytes = format::kRingHeaderBytes;
    header_->nonce = nonce;
    header_->pid = self.pid;
    header_->pid_start = self.start;
    header_->pid_namespace = self.pid_namespace;
    header_->boot = self.boot;
    header_->run_device = run.st_dev;
    header_->run_inode = run.st_ino;
    header_->state = format::kRingDormant;
    header_->control.armed = 1;
    snprintf(header_->log_name, sizeof header_->log_name, "p%d.crosscut", static_cast<int>(nonce));
    snprintf(header_->control.run_dir, sizeof header_->control.run_dir, "%s", run_dir.c_str());
    header_->magic = format::kRingMagic;
  }
  ArmedRing(const ArmedRing&) = delete;
  ArmedRing& operator=(const ArmedRing&) = delete;
  ~ArmedRing() {
    End();
    munmap(header_, format::kRingPageBytes);
    unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }
  format::RingHeader& header() { return *header_; }
  // Of requests that were carried out, the last one's, and all kinds.
  const format::Request& asked() const { return asked_; }
  const std::string& kinds() const { return kinds_; }

  // Answers from now on. `step_us`: between its steps; 0: it makes none, and counts none. `asked`:
  // it makes its first step once a request waits.
  void Serve(int step_us, bool asked = false) {
    header_->control.counts_steps = step_us != 0 ? 1 : 0;
    thread_ = std::thread([this, step_us, asked] {
      while (asked && !over_ && format::WaitingRequest(*header_) == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      while (!over_) {
        if (step_us != 0) {
          BeginStep();
        } else {
          Look(format::kAtOnce);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(step_us != 0 ? step_us : 500));
      }
    });
  }
  void End() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }

  // As Serve() does.
  void BeginStep() {
    const uint64_t step = header_->control.steps;
    format::CountSteps(header_, step + 1);
    const bool last = recording_ && asked_count_ != 0 && step == first_ + asked_count_;
    if (last) EndWindow(step);
    Look(step);
  }

 private:
  // Before step `step`; kAtOnce: no step.
  void Look(uint64_t step) {
    const uint32_t word = format::WaitingRequest(*header_);
    if (word == 0) return;
    const uint64_t at = format::RingLoad(header_->control.at_step);
    if (at != format::kAtOnce && (step == format::kAtOnce || at > step)) return;
    if (!format::ClaimRequest(header_, word)) return;
    const bool late = at != format::kAtOnce && at < step;
    if (!late) CarryOut(word & 0x7f, step == format::kAtOnce ? 0 : step);
    format::Answer(header_, word, late ? 64 : 0);
  }

  void CarryOut(uint32_t kind, uint64_t step) {
    const format::RingControl& control = header_->control;
    asked_ = {static_cast<format::RingRequest>(kind), control.at_step, control.step_count,
              control.limit_ns, control.window};
    kinds_ += static_cast<char>('0' + kind);
    if (kind == 1) {
      first_ = step;
      asked_count_ = control.step_count;
      recording_ = true;
      format::RingStore(header_->control.first_step, step);
      format::RingStore(header_->control.window_begun, control.window);
      format::RingStore(header_->state, uint32_t{format::kRingRecording});
    } else if (kind == 2) {
      EndWindow(step);
    }
  }

  void EndWindow(uint64_t step) {
    recording_ = false;
    format::RingStore(header_->control.end_step, step);
    format::RingStore(header_->state, uint32_t{format::kRingStopped});
    format::RingStore(header_->control.window_ended, header_->control.window_begun);
  }

  std::string path_;
  format::RingHeader* header_ = nullptr;
  std::thread thread_;
  std::atomic<bool> over_ = false;
  format::Request asked_;
  std::string kinds_;
  bool recording_ = false;
  uint64_t first_ = 0, asked_count_ = 0;
};

}  // namespace crosscut::verbs
