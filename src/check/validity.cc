// C8: what comes out can be read by every reader, and lies in its session.
#include <algorithm>

#include "src/check/harness/xspace_rules.h"
#include "src/check/resources.h"
#include "src/check/tests.h"

namespace crosscut::check {
namespace {

constexpr uint64_t kWork = 50;

void CheckOne(const Session& session) {
  if (!session.bytes.empty()) {
    const std::string_view bytes(session.bytes.data(), std::min(session.fetched, session.size));
    for (const SpaceFault& fault : CheckSpace(bytes, session.begin_ns, session.end_ns)) {
      Report(fault.warn ? Severity::kWarn : Severity::kFail, fault.rule, fault.text);
    }
  }
  for (const PushFault& fault : PushFaults()) Fail(fault.rule, fault.text);
}

}  // namespace

void RunValidity() {
  auto* outputs = static_cast<int64_t*>(SharedMemory(sizeof(int64_t)));
  // One session per process: what of an earlier one comes again is C5's to judge.
  for (const uint64_t work : {kSomeWork, kWork}) {
    WithAndWithoutPushTable("C8", [&](Plugin* plugin, bool) {
      Phase("a session with " + std::to_string(work) + " pieces of work");
      const Session session = RunSession(plugin, {work, Collect::kFull, 2'000'000});
      *outputs += session.output();
      WorkNow(kSomeWork);  // nobody records now
      CheckOne(session);
    });
  }
  if (*outputs == 0 && board().count.load() == 0) {
    Skip(
        "the plugin gave no output here: name a library that makes its device work (--work), or "
        "give it a mock device (option mock_work)");
  }
}

}  // namespace crosscut::check
