#include "cpu_samples.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace crosscut::samples {
namespace {

struct Record {
  perf_event_header header;
  uint64_t address;
  uint32_t pid, tid;
  uint64_t at_ns;
};

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// The buffer behind the first page is one page long; its positions never turn back.
void CopyOut(const char* data, uint64_t at, void* to, size_t bytes) {
  const size_t room = PageBytes(), first = at % room;
  const size_t whole = first + bytes <= room ? bytes : room - first;
  std::memcpy(to, data + first, whole);
  std::memcpy(static_cast<char*>(to) + whole, data, bytes - whole);
}

// A descriptor, or -1 and errno.
int OpenEvent(int tid, int64_t period_ns, int group) {
  perf_event_attr attr = {};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = static_cast<uint64_t>(period_ns);
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.wakeup_events = 1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attr, tid, -1, group, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

int CpuSamples::Refusal() {
  constexpr int kNoGroup = INT_MAX;  // looked up behind the rights, before anything is made
  constexpr int64_t kAnyPeriodNs = 1'000'000'000;
  OpenEvent(0, kAnyPeriodNs, kNoGroup);
  // Without a free descriptor here: the sampling thread has some.
  return errno == EBADF || errno == EMFILE ? 0 : errno;
}

int CpuSamples::Open(int tid, int64_t period_ns) {
  fd_ = OpenEvent(tid, period_ns, -1);
  if (fd_ < 0) return errno;
  void* pages = mmap(nullptr, 2 * PageBytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (pages == MAP_FAILED) {
    const int error = errno;
    Close();
    return error;
  }
  page_ = static_cast<perf_event_mmap_page*>(pages);
  return 0;
}

void CpuSamples::Close() {
  if (page_ != nullptr) munmap(page_, 2 * PageBytes());
  if (fd_ >= 0) close(fd_);
  page_ = nullptr;
  fd_ = -1;
}

void CpuSamples::Enable(bool on) {
  if (fd_ >= 0) ioctl(fd_, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

int CpuSamples::Take(CpuSample* newest) {
  if (page_ == nullptr) return 0;
  const char* data = reinterpret_cast<const char*>(page_) + PageBytes();
  const uint64_t head = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
  uint64_t at = page_->data_tail;
  int count = 0;
  while (at < head) {
    Record record = {};
    CopyOut(data, at, &record.header, sizeof record.header);
    if (record.header.type == PERF_RECORD_SAMPLE && record.header.size >= sizeof record) {
      CopyOut(data, at, &record, sizeof record);
      *newest = {static_cast<int64_t>(record.at_ns), record.address};
      ++count;
    }
    at += record.header.size != 0 ? record.header.size : head - at;
  }
  __atomic_store_n(&page_->data_tail, head, __ATOMIC_RELEASE);
  return count;
}

}  // namespace crosscut::samples
