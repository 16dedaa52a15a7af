#include "src/analyze/verdict/thread_samples.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/analyze/verdict/stacks.h"

namespace crosscut::analyze {
namespace {

// An import runs where the program's own innermost line called one: what a module of the program's
// own does as it is imported has lines of its own.
bool Imports(std::string_view stack, std::string_view own_line) {
  const size_t behind = own_line.empty() ? 0 : BehindFrameOf(stack, own_line);
  const std::string_view inside = behind == stack.npos ? "" : stack.substr(behind);
  return inside.find("<frozen importlib._bootstrap>") != inside.npos;
}

Line LineOf(const trace::Trace& trace, const trace::Sample& sample) {
  const std::string_view stack = trace.text(sample.stack);
  const std::string_view own_line = trace.text(sample.own_line);
  if (Imports(stack, own_line)) return {LineKind::kImport, sample.own_line};
  if (!own_line.empty()) return {LineKind::kOwn, sample.own_line};
  return {stack.empty() || sample.cut ? LineKind::kNone : LineKind::kLibrary, {}};
}

// What ran, where no sample of native code tells. Who has no GIL runs no Python; by a lock it may
// wait for the GIL, and in the interpreter.
Code CodeBy(trace::Gil gil, std::string_view waits) {
  if (gil == trace::Gil::kHeld && waits.empty()) return Code::kInterpreter;
  return gil == trace::Gil::kReleased && waits != "futex" ? Code::kNative : Code::kUnknown;
}

// What the stack tells: it is long, and most samples have that of another one.
ThreadSample ByStack(const trace::Trace& trace, const trace::Sample& sample) {
  const std::string_view stack = trace.text(sample.stack);
  const bool own = sample.own_line.valid();
  ThreadSample one;
  one.line = LineOf(trace, sample);
  one.cut = sample.cut && one.line.kind == LineKind::kNone;
  one.stack = sample.stack;
  one.python = sample.stack.valid();
  one.awaits_thread = AwaitsThread(stack);
  one.awaits_end = AwaitsEnd(stack);
  one.awaits_begin = AwaitsBegin(stack);
  one.awaits_future = AwaitsFuture(stack);
  one.in_library = own && IsInLibrary(stack, trace.text(sample.own_line));
  one.in_subprocess = stack.find(";subprocess.py:") != stack.npos;
  one.in_item = InWorkItem(stack);
  one.compiles = Compiles(stack);
  one.feeds = own && Feeds(stack);
  one.called_back = own && !stack.starts_with("threading.py:");
  return one;
}

}  // namespace

std::vector<ThreadSample> SamplesOf(const trace::Trace& trace, const trace::SampleReader& reader,
                                    const trace::Track& track) {
  std::vector<ThreadSample> out;
  if (!reader.any()) return out;
  std::map<std::tuple<uint32_t, uint32_t, bool>, ThreadSample> by_stack;
  reader.ForEach(trace, track, [&](int64_t at_ns, const trace::Sample& sample) {
    if (sample.thread != 0) return;
    const auto [known, added] =
        by_stack.try_emplace({sample.stack.value, sample.own_line.value, sample.cut});
    if (added) known->second = ByStack(trace, sample);
    const std::string_view waits = trace.text(sample.waits);
    ThreadSample& one = out.emplace_back(known->second);
    one.at_ns = at_ns + sample.stack_after_ns;
    one.covers_ns = sample.covers_ns;
    one.run_delay_ns = sample.run_delay_ns;
    one.locked = waits == "futex";
    one.runs = Runs(waits);
    one.awaits_process = AwaitsProcess(waits);
    one.selects = waits.find("poll") != waits.npos || waits.find("select") != waits.npos;
    one.waits = Waits(waits);
    one.awaits_reader = AwaitsReader(waits);
    one.awaits_file = AwaitsFile(waits);
    one.called_back = one.called_back && !track.main;
    one.gil = sample.gil;
    one.knows_native = sample.library.valid();
    one.code =
        sample.library.valid() ? CodeOf(trace.text(sample.library)) : CodeBy(sample.gil, waits);
  });
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
  if (!track.main) return out;
  // A program of which no stack was ever read has nothing that ends.
  const bool any = std::any_of(out.begin(), out.end(), [](const auto& s) { return s.python; });
  for (auto last = out.rbegin(); any && !last->python; ++last) last->line = {LineKind::kExit, {}};
  return out;
}

}  // namespace crosscut::analyze
