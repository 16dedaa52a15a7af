#include "src/format/ring_mapping.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>
#include <mutex>

namespace crosscut::format {
namespace {

// The pages in use, for the handler: a process asks a few hundred others at most.
constexpr size_t kMostPages = 4096;
std::atomic<void*> pages[kMostPages];
std::mutex mutex;
size_t in_use = 0;
struct sigaction before;

// Async-signal-safe. A page that is gone becomes one of zeros; the access is then made again.
void OnBusError(int signal, siginfo_t* info, void* context) {
  auto* address = static_cast<char*>(info->si_addr);
  for (const std::atomic<void*>& entry : pages) {
    auto* page = static_cast<char*>(entry.load());
    if (page == nullptr || address < page || address >= page + kRingPageBytes) continue;
    void* zeros = mmap(page, kRingPageBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == page) return;
  }
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(signal);
  sigaction(SIGBUS, &before, nullptr);    // the access is made again, and ends as it would have
  if (info->si_code <= 0) raise(signal);  // but a process's signal comes once
}

bool Guard(void* page) {
  const std::lock_guard lock(mutex);
  for (std::atomic<void*>& entry : pages) {
    if (entry.load() != nullptr) continue;
    entry.store(page);
    if (in_use++ != 0) return true;
    struct sigaction ours = {};
    ours.sa_sigaction = &OnBusError;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER;
    return sigaction(SIGBUS, &ours, &before) == 0;
  }
  return false;
}

void Unguard(const void* page) {
  const std::lock_guard lock(mutex);
  for (std::atomic<void*>& entry : pages) {
    if (entry.load() != page) continue;
    entry.store(nullptr);
    if (--in_use == 0) sigaction(SIGBUS, &before, nullptr);
    return;
  }
}

}  // namespace

Result<RingMapping> RingMapping::Open(const std::string& path, const RingTrust& trust) {
  Result<RingFile> file = RingFile::Open(path, trust, /*writable=*/true);
  if (!file.ok()) return file.status();
  RingHeader header;
  uint64_t chunks = 0;
  if (Status status = file->ReadHeader(&header, &chunks); !status.ok()) return status;
  void* page = mmap(nullptr, kRingPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd(), 0);
  if (page == MAP_FAILED) return Status::Io(path + ": map: " + strerror(errno));
  if (!Guard(page)) {
    munmap(page, kRingPageBytes);
    return Status::Limit(path + ": too many rings are in use at once");
  }
  return RingMapping(std::move(*file), page);
}

RingMapping::RingMapping(RingMapping&& other) noexcept
    : file_(std::move(other.file_)), page_(other.page_) {
  other.page_ = nullptr;
}

RingMapping::~RingMapping() {
  if (page_ == nullptr) return;
  Unguard(page_);
  munmap(page_, kRingPageBytes);
}

}  // namespace crosscut::format
