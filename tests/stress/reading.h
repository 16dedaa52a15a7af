// What a reader finds of a run, matched with what the program's threads said that they did.
//
// Each call of a thread has a window, from the tick before it to the tick after it, and windows of
// one thread do not touch: an event belongs to the call whose window holds its tick, on the thread
// whose id its track bears. Counters bear their number besides.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/format/process_reader.h"
#include "tests/stress/world.h"

namespace crosscut::stress {

// One file of ops/.
struct Ops {
  const OpsHeader* header = nullptr;
  const Op* ops = nullptr;
  size_t count = 0;
  uint64_t base = 0;                // of its counters' values
  std::vector<uint32_t> by_number;  // of the number n: index + 1
};

class AllOps {
 public:
  void Load(const std::string& dir);
  const std::vector<Ops>& files() const { return files_; }
  // Whose thread `tid` of `pid` was at `tick`; -1: nobody's.
  int OwnerOf(int64_t pid, int64_t tid, uint64_t tick) const;
  // The op of a file whose window holds the tick; -1: none.
  static int OpAt(const Ops& file, uint64_t tick);
  // File and op of a counter's value; -1: nobody marked it.
  std::pair<int, int> Numbered(uint64_t value) const;
  // The hash of the text that this process, or one that it was forked from, interned as `id`; 0.
  uint64_t TextOf(int64_t pid, uint32_t id) const;

 private:
  struct Stay {
    uint64_t since;
    int file;
  };
  std::vector<Ops> files_;
  std::map<std::pair<int64_t, int64_t>, std::vector<Stay>> threads_;
  std::map<uint64_t, int> bases_;
  std::map<std::pair<int64_t, uint32_t>, uint64_t> texts_;
  std::map<int64_t, int64_t> parents_;
};

// What was found of one run.
struct FoundRun {
  uint32_t run = 0;
  // By file and op: how often; and in which process's log, by its place in `keys`.
  std::vector<std::vector<uint8_t>> times;
  std::vector<std::vector<uint8_t>> key_of;
  std::vector<std::vector<uint8_t>> hidden;  // a begin that was written later: 1
  std::vector<std::string> keys;
  struct Session {
    uint64_t from, to;  // to: 0 while it is open
    uint64_t reason;    // StopReason
  };
  struct Process {
    uint64_t dropped = 0;
    uint64_t repaired = 0;  // ends of spans in a full ring, written later
    std::map<uint64_t, uint64_t> by_reason;
    std::vector<Session> sessions;
    bool disk_failed = false;
    uint64_t control_steps = 0;
    std::vector<std::pair<uint64_t, int>> levels;  // tick, level: of steps
  };
  std::map<int64_t, Process> processes;  // by pid
  std::vector<std::string> wrong;        // sentences, some of each kind
  std::map<std::string, uint64_t> wrong_counts;
};

// `only`: a log's key; "" reads all.
FoundRun ReadRun(const std::string& dir, uint32_t run, const AllOps& all);

}  // namespace crosscut::stress
