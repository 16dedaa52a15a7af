#include "src/analyze/verdict/who_speaks.h"

#include <algorithm>
#include <utility>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/verdict/causes.h"
#include "src/trace/requests.h"

namespace crosscut::analyze {
namespace {

// For how long the process itself was at work, or waited for its own devices and data.
int64_t WorkOf(const ProcessCauses& causes) {
  int64_t work = causes.program_ns();
  for (const Cause waits :
       {Cause::kOtherProcess, Cause::kOtherRank, Cause::kLock, Cause::kWaiting, Cause::kUnknown}) {
    work -= causes.causes[static_cast<size_t>(waits)].ns;
  }
  return work;
}

// Who started the program, such as a shell, lives longest, and nothing else is known of it.
std::pair<int64_t, int64_t> LengthOf(const ProcessCauses& causes) {
  const int64_t unknown = causes.causes[static_cast<size_t>(Cause::kUnknown)].ns;
  return {causes.program_ns() - unknown, causes.program_ns()};
}

}  // namespace

std::vector<uint32_t> WhoSpeaks(const Context& context) {
  const std::vector<ProcessCauses>& processes = context.Shared<Causes>().processes;
  // Steps of which none was observed say nothing.
  const auto makes_steps = [](const ProcessCauses& c) {
    return c.part == WindowPart::kSteps && !c.steps.empty();
  };
  const auto serves = [](const ProcessCauses& c) {
    return c.part == WindowPart::kRequests && c.program_ns() > 0;
  };
  const bool any_steps = std::ranges::any_of(processes, makes_steps);
  const bool any_requests = !any_steps && std::ranges::any_of(processes, serves);
  int64_t of_requests = 0;
  std::pair<int64_t, int64_t> longest;  // by LengthOf()
  trace::Interval served = {INT64_MAX, 0};
  for (uint32_t p = 0; p < processes.size(); ++p) {
    const ProcessCauses& c = processes[p];
    longest = std::max(longest, LengthOf(c));
    if (!serves(c)) continue;
    of_requests = std::max(of_requests, WorkOf(c));
    const auto& requests = context.Shared<Accounting>().requests[p];
    served.begin_ns = std::min(served.begin_ns, requests.front().begin_ns);
    served.end_ns = std::max(served.end_ns, requests.back().end_ns);
  }
  // Not who started the servers and waits.
  const auto works_beside = [&](uint32_t p) {
    const ProcessCauses& c = processes[p];
    return c.part == WindowPart::kWhole &&
           ((WorkOf(c) > of_requests && 2 * WorkOf(c) > c.program_ns()) ||
            trace::RunsBeside(context.trace(), {p}, served));
  };
  std::vector<uint32_t> out;
  for (uint32_t p = 0; p < processes.size(); ++p) {
    const ProcessCauses& causes = processes[p];
    const bool speaks = any_steps      ? makes_steps(causes)
                        : any_requests ? serves(causes) || works_beside(p)
                                       : LengthOf(causes) == longest && longest.second > 0;
    if (!speaks) continue;
    out.push_back(p);
    if (!any_steps && !any_requests) break;
  }
  // Nobody has more to say than those whose steps were not recorded.
  for (uint32_t p = 0; p < processes.size() && out.empty(); ++p) {
    if (processes[p].part == WindowPart::kSteps) out.push_back(p);
  }
  return out;
}

}  // namespace crosscut::analyze
