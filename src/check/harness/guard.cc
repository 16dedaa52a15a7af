#include "src/check/harness/guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "src/check/harness/board.h"

namespace crosscut::check {
namespace {

constexpr int kGuards = 64;
// Read by the signal handler: plain arrays, zero where unused.
volatile uintptr_t guard_pages[kGuards];
char guard_rule[24], guard_text[400];

size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

bool OnGuard(uintptr_t address) {
  const uintptr_t page = address & ~(PageSize() - 1);
  return std::any_of(std::begin(guard_pages), std::end(guard_pages),
                     [page](uintptr_t guard) { return guard != 0 && guard == page; });
}

void OnCrash(int signal, siginfo_t* info, void*) {
  Board& b = board();
  for (uint32_t i = 0; i < Board::kSlots; ++i) {
    // The thread's own slot is thread-local data of the barrier; any call in flight names it.
    if (b.slots[i].call.load() != 0) b.crashed_call.store(b.slots[i].call.load());
  }
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  b.crash_address.store(address);
  if (signal == SIGSEGV && guard_rule[0] != 0 && OnGuard(address)) {
    Fail(guard_rule, guard_text);
    if (guard_rule[1] == '2') b.fatal.store(1);  // C2: nothing is safe then
    ClearCalls();
    b.done.store(1);
    _exit(0);
  }
  struct sigaction normal = {};
  normal.sa_handler = SIG_DFL;
  sigaction(signal, &normal, nullptr);
  raise(signal);
}

}  // namespace

GuardedBytes::GuardedBytes(size_t size, uint8_t fill) : size_(size) {
  const size_t page = PageSize();
  const size_t body = std::max<size_t>(1, (size + page - 1) / page) * page;
  mapped_ = body + page;
  base_ = static_cast<uint8_t*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  guard_ = base_ + body;
  mprotect(guard_, page, PROT_NONE);
  data_ = guard_ - size;
  memset(base_, 0xA5, std::min<size_t>(page, body - size));
  if (size > 0) memset(data_, fill, size);
  for (volatile uintptr_t& slot : guard_pages) {
    if (slot != 0) continue;
    slot = reinterpret_cast<uintptr_t>(guard_);
    break;
  }
}

GuardedBytes::~GuardedBytes() {
  for (volatile uintptr_t& slot : guard_pages) {
    if (slot == reinterpret_cast<uintptr_t>(guard_)) slot = 0;
  }
  munmap(base_, mapped_);
}

bool GuardedBytes::FrontTouched() const {
  const size_t front = std::min<size_t>(PageSize(), static_cast<size_t>(data_ - base_));
  return std::any_of(base_, base_ + front, [](uint8_t byte) { return byte != 0xA5; });
}

bool GuardedBytes::Guards(const void* address) const {
  const auto* at = static_cast<const uint8_t*>(address);
  return at >= guard_ && at < guard_ + PageSize();
}

void OnGuardTouched(const std::string& rule, const std::string& text) {
  strncpy(guard_text, text.c_str(), sizeof guard_text - 1);
  strncpy(guard_rule, rule.c_str(), sizeof guard_rule - 1);
}

void WatchCrashes() {
  static char stack[65536];
  const stack_t alternate = {stack, 0, sizeof stack};
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = OnCrash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS}) {
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace crosscut::check
