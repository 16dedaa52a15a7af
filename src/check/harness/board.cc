#include "src/check/harness/board.h"

#include <sys/mman.h>
#include <time.h>

#include <cstdio>
#include <cstring>
#include <mutex>

namespace crosscut::check {
namespace {

Board own_board;
Board* the_board = &own_board;
std::mutex report_lock;

template <size_t N>
void Copy(const std::string& text, char (&out)[N]) {
  snprintf(out, N, "%s", text.c_str());
}

}  // namespace

const char* NameOf(Call call) {
  switch (call) {
    case Call::kNone: return "no call";
    case Call::kLoad: return "dlopen";
    case Call::kInit: return "TF_InitProfiler";
    case Call::kDestroy: return "destroy_profiler or destroy_profiler_fns";
    case Call::kStart: return "start";
    case Call::kStop: return "stop";
    case Call::kQuery: return "collect_data_xspace (null buffer)";
    case Call::kFetch: return "collect_data_xspace (buffer)";
    case Call::kFlush: return "a callback";
    case Call::kWork: return "the device's own API";
    case Call::kUnload: return "dlclose";
    case Call::kExit: return "the end of the process";
  }
  return "?";
}

Board& board() { return *the_board; }

bool MapBoard(int fd) {
  void* at = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return false;
  the_board = static_cast<Board*>(at);
  return true;
}

void Report(Severity severity, const std::string& rule, const std::string& text) {
  const std::lock_guard lock(report_lock);
  const uint32_t count = the_board->count.load();
  for (uint32_t i = 0; i < count && i < Board::kFindings; ++i) {
    if (rule == the_board->findings[i].rule) return;
  }
  if (count >= Board::kFindings) return;
  Finding& finding = the_board->findings[count];
  finding.severity = severity;
  Copy(rule, finding.rule);
  Copy(text, finding.text);
  the_board->count.store(count + 1);
}

void FailFatally(const std::string& rule, const std::string& text) {
  the_board->fatal.store(1);
  Fail(rule, text);
}

void ClearCalls() {
  for (Slot& slot : the_board->slots) slot.call.store(0);
}

void Skip(const std::string& why) { Copy(why, the_board->skip); }
void Note(const std::string& text) { Copy(text, the_board->note); }
void Phase(const std::string& text) { Copy(text, the_board->phase); }

}  // namespace crosscut::check
