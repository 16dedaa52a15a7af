// Puts the samples that a process took of its threads where they belong: as instants "[sample]" on
// the sampled thread, at the time of the sample, with the arguments
//   Python stack   "train.py:41 main;model.py:12 forward", outermost first
//   Own line       the innermost of these in the program's own code: "models/net.py:12 forward"
//   Frames missing  1: the stack has no more frames, because they were not read; absent: it is
//   whole Library        file name of the native code that ran Function       its function, by the
//   symbols of that file on this machine; absent where they do
//                  not tell, and where the file is another build than the one that ran (a gap
//                  counts these)
//   Waits for      the system call in which the thread was, or what else it waited for
//   Holds the GIL  1: it has it, so that other threads' Python waits; 0: it has not, so it runs no
//                  Python; absent: not known
//   covers_ns      the time of the thread that the sample stands for: it ends with the sample
//   stack_after_ns  the stack was read so much later; absent: right then
//   run_delay_ns   for how long of it the thread was ready without a processor; absent: not known
// A sample of a thread that recorded nothing else stays on the sampling thread, with the argument
// Thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/import/native/elf_symbols.h"
#include "src/import/native/native_session.h"
#include "src/trace/builder.h"

namespace crosscut::import {

class NativeSamples {
 public:
  // `builder` and `session` must outlive this object.
  NativeSamples(trace::Builder* builder, const NativeSession* session);

  // Whether instants of that name id are samples.
  bool Knows(uint64_t name) const { return name == sample_ && sample_ != 0; }
  // A sample, taken at `at` in ns and recorded by the thread of `teller`. The arguments until the
  // next Begin are its own.
  void Begin(trace::TrackBuilder* teller, int64_t at);
  // An argument of the sample: the name id `key`, and a value, which is a name id if `is_name`.
  void Take(uint64_t key, uint64_t value, bool is_name);

  // Finds the track of the thread with that id at that time; null where there is none.
  using FindTrack = std::function<trace::TrackBuilder*(int64_t os_id, int64_t at)>;
  // Gives all samples to their tracks. Call it once, before the tracks are finished.
  void Finish(const FindTrack& find);
  // How many samples are in files that are other builds here than those that ran. After Finish.
  uint64_t in_changed_files() const { return in_changed_; }
  // How many samples have a function although the log does not say which builds ran, as older logs
  // do not.
  uint64_t unsure() const { return unsure_; }
  // How many have not their whole Python stack: it is deeper than what was read, or changed under
  // the reading (plugins/samples/code_table.h: Part).
  uint64_t deeper() const { return deeper_; }
  uint64_t changed_stacks() const { return changed_stacks_; }

 private:
  enum class Field {
    kNone,
    kThread,
    kAgo,
    kCovers,
    kDelay,
    kStackAfter,
    kFrame,
    kOwnLine,
    kPart,
    kLibrary,
    kOffset,
    kWaits,
    kHoldsGil
  };
  struct Sample {
    trace::TrackBuilder* teller = nullptr;
    int64_t at = 0, thread = 0, covers = 0, run_delay = -1, stack_after = 0, offset = 0;
    uint64_t own_line = 0, library = 0, waits = 0;  // name ids
    int64_t holds_gil = -1;                         // not known
    bool cut = false;                               // frames are missing
    trace::StringId stack;
  };
  void Close();
  trace::StringId FunctionAt(uint64_t library, int64_t offset);
  void Tell(const Sample& sample, trace::TrackBuilder* track, bool found);

  trace::Builder* builder_;
  const NativeSession* session_;
  uint64_t sample_ = 0;
  trace::NameId silent_;  // of samples for which the thread was not interrupted: they cost nothing
  std::unordered_map<uint64_t, Field> fields_;  // by name id
  std::vector<Sample> samples_;
  std::vector<uint64_t> frames_;  // of the last sample
  std::map<std::vector<uint64_t>, trace::StringId> stacks_;
  std::map<uint64_t, std::unique_ptr<ElfSymbols>> symbols_;  // by library; null: none
  std::map<std::pair<uint64_t, int64_t>, trace::StringId> functions_;
  std::set<uint64_t> changed_;  // libraries whose file is another build than the one that ran
  uint64_t in_changed_ = 0;     // samples there
  uint64_t unsure_ = 0, deeper_ = 0, changed_stacks_ = 0;
};

}  // namespace crosscut::import
