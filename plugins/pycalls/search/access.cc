#include "plugins/pycalls/search/access.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace crosscut::pycalls {
namespace {

// The kernel compares the word with 0, and at most waits for no time at all.
bool MayReadWord(uintptr_t address) {
  const timespec none = {};
  return syscall(SYS_futex, address, FUTEX_WAIT_PRIVATE, 0, &none, nullptr, 0) == 0 ||
         errno == EAGAIN || errno == ETIMEDOUT;
}

}  // namespace

bool MayRead(const void* address, size_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  for (uintptr_t at = first & -sizeof(uint32_t); at < first + bytes; at = (at & -kPage) + kPage) {
    if (!MayReadWord(at)) return false;
  }
  return true;
}

// The kernel ors 0 into the word, at once for all threads. Nobody waits for `unwaited`, and nobody
// for the word, which is half a pointer.
bool MayWrite(void** address) {
  uint32_t unwaited = 0;
  return syscall(SYS_futex, &unwaited, FUTEX_WAKE_OP_PRIVATE, 0, 0, address,
                 FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0)) >= 0;
}

}  // namespace crosscut::pycalls
