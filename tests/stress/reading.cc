#include "tests/stress/reading.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "src/format/run_reader.h"

namespace crosscut::stress {
namespace {

using format::WordBatch;

constexpr uint64_t kLateTicks = 1'800'000'000;  // some 0.6 s: preempt.cc holds nobody up for longer

struct NameText {
  std::string text;
  format::NameAttributes attributes;
};

struct TrackState {
  int64_t tid = -1;
  bool ours = false;
  std::vector<uint32_t> open;  // name ids
};

class Walk {
 public:
  Walk(const AllOps& all, FoundRun* found, int64_t pid) : all_(all), found_(*found), pid_(pid) {
    key_ = static_cast<uint8_t>(found->keys.size() - 1);
  }
  void Session(const WordBatch& batch);
  void Drops(const WordBatch& batch);
  void Events(const WordBatch& batch);
  void EndSessions(const format::ProcessInfo& info);

 private:
  FoundRun::Process& process() { return found_.processes[pid_]; }
  void Wrong(const char* kind, const char* format, ...) __attribute__((format(printf, 3, 4)));
  void Fact(const std::string& key, const std::string& value);
  void Event(TrackState* track, uint16_t code, const uint64_t* p, uint64_t tick);
  void Begin(TrackState* track, uint32_t name, uint64_t tick);
  void EndOf(TrackState* track, uint16_t code, uint32_t name, uint64_t tick);
  bool Take(int file, int op, uint64_t tick);
  bool TakeHidden(int file, uint32_t name, uint64_t tick);
  const NameText* Name(uint32_t id);
  bool IsPrograms(uint32_t id);
  // The op of this thread at the tick; -1 and a sentence where there is none.
  int OpOf(const TrackState& track, uint64_t tick, int* file);
  uint64_t SessionBegan(uint64_t tick);

  const AllOps& all_;
  FoundRun& found_;
  int64_t pid_;
  uint8_t key_;
  std::map<uint32_t, NameText> names_;
  std::map<uint32_t, TrackState> tracks_;
  std::vector<FoundRun::Session> sessions_;
  uint64_t without_text_ = 0;  // names
};

void Walk::Wrong(const char* kind, const char* format, ...) {
  if (++found_.wrong_counts[kind] > 3) return;
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  found_.wrong.push_back("run " + std::to_string(found_.run) + ", " + found_.keys[key_] + ": " +
                         kind + ": " + text);
}

std::string TextAt(const uint64_t* words, size_t bytes) {
  return {reinterpret_cast<const char*>(words), bytes};
}

void Walk::Session(const WordBatch& batch) {
  format::TickReader ticks(batch.base_tick);
  for (size_t at = 0, n = 0; at < batch.words.size(); at += n) {
    n = format::EventLength(batch.words, at);
    if (n == 0) return Wrong("unreadable", "session words");
    const uint64_t* p = batch.words.data() + at + 1;
    const uint64_t tick = ticks.Next(batch.words[at]);
    switch (batch.words[at] & format::kCodeMask) {
      case format::kName:
        names_[static_cast<uint32_t>(p[0])] = {TextAt(p + 3, p[2]),
                                               format::NameAttributes::Unpack(p[1])};
        break;
      case format::kMeta: Fact(TextAt(p + 3, p[0]), TextAt(p + 3 + (p[0] + 7) / 8, p[1])); break;
      case format::kStart: sessions_.push_back({p[0], 0, 0}); break;
      case format::kStop:
        if (!sessions_.empty()) sessions_.back().to = tick, sessions_.back().reason = p[0];
        if (p[0] == format::kStopDisk) process().disk_failed = true;
        break;
    }
  }
}

// However the program writes its numbers.
void Walk::Fact(const std::string& key, const std::string& value) {
  if (key.ends_with("_percent") && value.find(',') != std::string::npos) {
    Wrong("a number of the program's locale", "%s is %s", key.c_str(), value.c_str());
  }
}

void Walk::EndSessions(const format::ProcessInfo& info) {
  if (info.has_ring && info.ring.stop_reason != 0 && !sessions_.empty() &&
      sessions_.back().to == 0) {
    sessions_.back().to = info.ring.stop_tick;
    sessions_.back().reason = info.ring.stop_reason;
  }
  if (info.has_ring && info.ring.stop_reason == format::kStopDisk) process().disk_failed = true;
  auto& all = process().sessions;
  all.insert(all.end(), sessions_.begin(), sessions_.end());
}

uint64_t Walk::SessionBegan(uint64_t tick) {
  uint64_t began = 0;
  for (const FoundRun::Session& session : sessions_) {
    if (session.from <= tick) began = session.from;
  }
  return began;
}

const NameText* Walk::Name(uint32_t id) {
  const auto at = names_.find(id);
  if (at != names_.end()) return &at->second;
  // Of a process that was killed: a text that the drain had not written yet counts as lost.
  if (++without_text_ <= process().by_reason[format::kDropNames]) return &names_[id];
  Wrong("no text", "name %u was used and has no text here", id);
  return nullptr;
}

bool Walk::IsPrograms(uint32_t id) {
  const NameText* name = Name(id);
  if (name == nullptr) return false;
  const uint64_t hash = all_.TextOf(pid_, id);
  if (hash == 0) return false;
  if (hash != HashOf(name->text) && !name->text.empty() && name->text != "(unnamed)") {
    Wrong("another text", "name %u is \"%s\" here", id, name->text.c_str());
  }
  return true;
}

int Walk::OpOf(const TrackState& track, uint64_t tick, int* file) {
  *file = all_.OwnerOf(pid_, track.tid, tick);
  return *file < 0 ? -1 : AllOps::OpAt(all_.files()[static_cast<size_t>(*file)], tick);
}

// Before all others: where events were dropped, stacks are repaired at other times.
void Walk::Drops(const WordBatch& batch) {
  for (size_t at = 0, n = 0; at < batch.words.size(); at += n) {
    n = format::EventLength(batch.words, at);
    if (n == 0) return;
    const uint64_t* p = batch.words.data() + at + 1;
    if ((batch.words[at] & format::kCodeMask) != format::kDrop) continue;
    process().dropped += p[1];
    process().by_reason[p[0]] += p[1];
  }
}

// Whether the event is the op's. Says what is wrong with it.
bool Walk::Take(int file, int op, uint64_t tick) {
  const Ops& ops = all_.files()[static_cast<size_t>(file)];
  const Op& own = ops.ops[op];
  uint8_t& times = found_.times[static_cast<size_t>(file)][static_cast<size_t>(op)];
  if (times < 200) ++times;
  found_.key_of[static_cast<size_t>(file)][static_cast<size_t>(op)] = key_;
  const bool ends = own.what == What::kEnd || own.what == What::kEndNamed;
  const char* role = ops.header->role;
  if (times > 1) Wrong("twice", "op %d of %s at %llu", op, role, (unsigned long long)tick);
  if ((own.run & kRunMask) != found_.run && own.sure != Sure::kUnknown) {
    Wrong("in another run", "op %d of %s of run %u", op, role, own.run & kRunMask);
  }
  if (own.sure == Sure::kOff) Wrong("recorded while off", "op %d of %s", op, role);
  // Where the disk was full, the program is not told when that was: a mark may be late by what its
  // thread, or the drain's, was held up, and a pause meanwhile changes nothing.
  const auto session = std::find_if(sessions_.rbegin(), sessions_.rend(),
                                    [&](const auto& s) { return s.from <= own.begin; });
  const bool failed = session != sessions_.rend() && session->reason == format::kStopDisk &&
                      own.begin > session->to;
  if (own.sure == Sure::kPaused && !failed && !ends && own.what != What::kStep) {
    Wrong("recorded in a pause", "op %d (%d) of %s", op, static_cast<int>(own.what), role);
  }
  if (own.sure == Sure::kControl && !ends && own.what != What::kStep) {
    Wrong("recorded in a control step", "op %d (%d) of %s at %llu, window %llu to %llu", op,
          static_cast<int>(own.what), role, (unsigned long long)tick, (unsigned long long)own.begin,
          (unsigned long long)own.end);
  }
  if (failed && own.begin > session->to + kLateTicks) {
    Wrong("recorded after the stop", "op %d of %s, %lld ticks after it", op, role,
          static_cast<long long>(own.begin - session->to));
  }
  return true;
}

// A begin in a pause, a control step or a full ring, written later: of a span that is still open.
// Where a step ends the control, it is stamped at the step's edge, a little before it happened.
bool Walk::TakeHidden(int file, uint32_t name, uint64_t tick) {
  const Ops& ops = all_.files()[static_cast<size_t>(file)];
  const auto above = std::upper_bound(ops.ops, ops.ops + ops.count, tick,
                                      [](uint64_t t, const Op& op) { return t < op.begin; });
  const auto take = [&](const Op* op) {
    const auto index = static_cast<size_t>(op - ops.ops);
    uint8_t& times = found_.times[static_cast<size_t>(file)][index];
    if (op->what != What::kBegin || op->name != name || times != 0) return false;
    ++times;
    found_.key_of[static_cast<size_t>(file)][index] = key_;
    found_.hidden[static_cast<size_t>(file)][index] = 1;
    return true;
  };
  std::vector<uint32_t> ended;
  for (const Op* op = above; op-- > ops.ops && above - op < 4000;) {
    const auto index = static_cast<uint32_t>(op - ops.ops);
    const bool ends = op->what == What::kEnd || op->what == What::kEndNamed;
    if (ends && op->end != 0 && op->end < tick) ended.push_back(static_cast<uint32_t>(op->number));
    if (std::find(ended.begin(), ended.end(), index) == ended.end() && take(op)) return true;
  }
  // From its first mark on that was certainly inside, the thread knew that it is on.
  const auto hidden = [](const Op& op) {
    return op.sure != Sure::kInside || op.what == What::kStep || op.what == What::kThread;
  };
  for (const Op* op = above; op < ops.ops + ops.count && hidden(*op); ++op) {
    if (take(op)) return true;
  }
  return false;
}

void Walk::Begin(TrackState* track, uint32_t name, uint64_t tick) {
  const NameText* text = Name(name);
  if (text != nullptr && text->attributes.kind >= format::kKindStep) return;
  if (!IsPrograms(name)) return;
  track->open.push_back(name);
  int file = -1;
  const int op = OpOf(*track, tick, &file);
  if (file < 0) return Wrong("of nobody", "a begin of thread %lld", (long long)track->tid);
  const Ops& ops = all_.files()[static_cast<size_t>(file)];
  const bool own = op >= 0 && ops.ops[op].what == What::kBegin && ops.ops[op].name == name;
  if (own && found_.times[static_cast<size_t>(file)][static_cast<size_t>(op)] == 0) {
    (void)Take(file, op, tick);
  } else if (!TakeHidden(file, name, tick)) {
    if (own) return (void)Take(file, op, tick);
    if (process().dropped == 0)
      Wrong("a begin out of nowhere", "\"%s\" of %s at %llu", text->text.c_str(), ops.header->role,
            static_cast<unsigned long long>(tick));
  }
}

void Walk::EndOf(TrackState* track, uint16_t code, uint32_t name, uint64_t tick) {
  if (code == format::kEndNamed) {
    const NameText* text = Name(name);
    if (text != nullptr && text->attributes.kind >= format::kKindStep) return;
    if (!IsPrograms(name)) return;
  }
  int file = -1;
  const int op = OpOf(*track, tick, &file);
  if (file < 0) return Wrong("of nobody", "an end of thread %lld", (long long)track->tid);
  const Ops& ops = all_.files()[static_cast<size_t>(file)];
  const What what = code == format::kEnd ? What::kEnd : What::kEndNamed;
  if (op < 0 || ops.ops[op].what != what || (what == What::kEndNamed && ops.ops[op].name != name)) {
    ++process().repaired;
    if (process().dropped == 0)
      return Wrong("an end out of nowhere", "of %s at %llu", ops.header->role,
                   (unsigned long long)tick);
    return;
  }
  const bool repaired = process().dropped != 0;
  if (repaired && found_.times[static_cast<size_t>(file)][static_cast<size_t>(op)] != 0) return;
  (void)Take(file, op, tick);
  if (repaired) return;
  const uint32_t expected = ops.ops[op].name;
  const auto ends_by_name = [&](uint32_t id) { return format::EndsByName(names_[id].attributes); };
  auto at = track->open.rbegin();
  while (at != track->open.rend() && (what == What::kEnd ? ends_by_name(*at) : *at != expected)) {
    ++at;
  }
  if (at == track->open.rend()) {
    const Op& begin = ops.ops[ops.ops[op].number];
    if (begin.sure == Sure::kInside && begin.begin > SessionBegan(tick) && begin.end != 0) {
      Wrong("an end without its begin", "op %d of %s", op, ops.header->role);
    }
    return;
  }
  if (*at != expected) {
    Wrong("an end meets another begin", "op %d of %s, \"%s\" meets \"%s\"", op, ops.header->role,
          names_[expected].text.c_str(), names_[*at].text.c_str());
  }
  track->open.erase(std::next(at).base());
}

void Walk::Event(TrackState* track, uint16_t code, const uint64_t* p, uint64_t tick) {
  if (code >= format::kFirstNameCode || code == format::kBeginWide) {
    return Begin(track, code == format::kBeginWide ? static_cast<uint32_t>(p[0]) : code, tick);
  }
  if (code == format::kEnd || code == format::kEndNamed) {
    return EndOf(track, code, code == format::kEnd ? 0 : static_cast<uint32_t>(p[0]), tick);
  }
  int file = -1, op = -1;
  What what = What::kNothing;
  if (code == format::kCounter) {
    if (!IsPrograms(static_cast<uint32_t>(p[0]))) return;
    std::tie(file, op) = all_.Numbered(p[1]);
    if (op < 0) return Wrong("a counter of nobody", "%llx", (unsigned long long)p[1]);
    const Op& own = all_.files()[static_cast<size_t>(file)].ops[op];
    if (tick < own.begin || (own.end != 0 && tick > own.end)) {
      Wrong("at another time", "op %d, %lld ticks after its begin", op,
            static_cast<long long>(tick - own.begin));
    }
    return (void)Take(file, op, tick);
  }
  if (code == format::kInstant) what = What::kInstant;
  if (code == format::kSpanAt) what = What::kSpanAt;
  if (code == format::kStepLevel) what = What::kStep;
  if (what == What::kNothing) return;
  if (what != What::kStep && !IsPrograms(static_cast<uint32_t>(p[0]))) return;
  op = OpOf(*track, tick, &file);
  if (file < 0) return Wrong("of nobody", "code %u of thread %lld", code, (long long)track->tid);
  const Ops& ops = all_.files()[static_cast<size_t>(file)];
  if (op < 0 || ops.ops[op].what != what) {
    return Wrong("an event out of nowhere", "code %u of %s", code, ops.header->role);
  }
  const Op& own = ops.ops[op];
  if (what == What::kSpanAt && p[1] != own.begin) Wrong("another begin", "of a span at its times");
  if (what == What::kStep) {
    if (own.end != 0 && own.number != static_cast<int64_t>(p[0])) {
      Wrong("another step", "%lld is %llu", (long long)own.number, (unsigned long long)p[0]);
    }
    const int level = static_cast<int>(p[1] & 0xff);
    process().levels.push_back({tick, level});
    if (level == 0 && (own.run & kMayControlBit) == 0 && own.sure != Sure::kUnknown) {
      Wrong("a control step that the plan does not have", "step %llu", (unsigned long long)p[0]);
    }
  }
  (void)Take(file, op, tick);
}

void Walk::Events(const WordBatch& batch) {
  uint32_t id = batch.track;
  format::TickReader ticks(batch.base_tick);
  for (size_t at = 0, n = 0; at < batch.words.size(); at += n) {
    n = format::EventLength(batch.words, at);
    if (n == 0) return Wrong("unreadable", "events");
    const auto code = static_cast<uint16_t>(batch.words[at] & format::kCodeMask);
    const uint64_t* p = batch.words.data() + at + 1;
    const uint64_t tick = ticks.Next(batch.words[at]);
    if (code == format::kThread) {
      id = static_cast<uint32_t>(p[0]);
      TrackState& track = tracks_[id];
      track.tid = static_cast<int64_t>(p[1]);
      if ((p[2] & format::kThreadContinues) == 0) track.open.clear();
      if ((p[2] & format::kThreadIsOurs) != 0) track.ours = true;
      continue;
    }
    TrackState& track = tracks_[id];
    if (code != format::kDrop && !track.ours && code != format::kThreadEnd)
      Event(&track, code, p, tick);
  }
}

}  // namespace

// ---- What the program said ---------------------------------------------------------------------

void AllOps::Load(const std::string& dir) {
  const std::string folder = dir + "/ops";
  DIR* list = opendir(folder.c_str());
  while (const dirent* entry = list == nullptr ? nullptr : readdir(list)) {
    const std::string path = folder + "/" + entry->d_name;
    const int fd = entry->d_name[0] == '.' ? -1 : open(path.c_str(), O_RDONLY);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) continue;
    void* at = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) continue;
    Ops file;
    file.header = static_cast<const OpsHeader*>(at);
    if (file.header->magic != kOpsMagic) continue;
    file.ops = reinterpret_cast<const Op*>(static_cast<const char*>(at) + kOpsHeaderBytes);
    file.count = file.header->count;
    file.base = static_cast<uint64_t>(file.header->pid) << 40 | file.header->serial << 24;
    const int index = static_cast<int>(files_.size());
    bases_[file.base] = index;
    parents_[file.header->pid] = file.header->parent;
    for (uint32_t i = 0; i < file.count; ++i) {
      const Op& op = file.ops[i];
      if (op.what == What::kThread) {
        threads_[{file.header->pid, op.number}].push_back({op.begin, index});
      } else if (op.what == What::kIntern) {
        texts_[{file.header->pid, op.name}] = static_cast<uint64_t>(op.number);
      } else if (op.what == What::kCounter) {
        const uint64_t n = static_cast<uint64_t>(op.number) & 0xffffff;
        if (file.by_number.size() <= n) file.by_number.resize(n + 1);
        file.by_number[n] = i + 1;
      }
    }
    files_.push_back(std::move(file));
  }
  if (list != nullptr) closedir(list);
  for (auto& [thread, stays] : threads_) {
    std::sort(stays.begin(), stays.end(),
              [](const Stay& a, const Stay& b) { return a.since < b.since; });
  }
}

int AllOps::OwnerOf(int64_t pid, int64_t tid, uint64_t tick) const {
  const auto found = threads_.find({pid, tid});
  if (found == threads_.end()) return -1;
  int file = -1;
  for (const Stay& stay : found->second) {
    if (stay.since <= tick || file < 0) file = stay.file;
  }
  return file;
}

int AllOps::OpAt(const Ops& file, uint64_t tick) {
  const Op* after = std::upper_bound(file.ops, file.ops + file.count, tick,
                                     [](uint64_t t, const Op& op) { return t < op.begin; });
  if (after == file.ops) return -1;
  const Op& op = after[-1];
  return op.end == 0 || tick <= op.end ? static_cast<int>(after - 1 - file.ops) : -1;
}

std::pair<int, int> AllOps::Numbered(uint64_t value) const {
  const auto found = bases_.find(value & ~uint64_t{0xffffff});
  if (found == bases_.end()) return {-1, -1};
  const Ops& file = files_[static_cast<size_t>(found->second)];
  const uint64_t n = value & 0xffffff;
  if (n >= file.by_number.size() || file.by_number[n] == 0) return {-1, -1};
  return {found->second, static_cast<int>(file.by_number[n] - 1)};
}

uint64_t AllOps::TextOf(int64_t pid, uint32_t id) const {
  for (int depth = 0; depth < 4; ++depth) {
    const auto found = texts_.find({pid, id});
    if (found != texts_.end()) return found->second;
    const auto parent = parents_.find(pid);
    if (parent == parents_.end()) return 0;
    pid = parent->second;
  }
  return 0;
}

// ---- A run -------------------------------------------------------------------------------------

FoundRun ReadRun(const std::string& dir, uint32_t run, const AllOps& all) {
  FoundRun found;
  found.run = run;
  for (const Ops& file : all.files()) {
    found.times.emplace_back(file.count);
    found.key_of.emplace_back(file.count);
    found.hidden.emplace_back(file.count);
  }
  Result<std::unique_ptr<format::RunReader>> reader = format::RunReader::Open(dir);
  if (!reader.ok()) {
    found.wrong.push_back("cannot read " + dir + ": " + std::string(reader.status().message()));
    return found;
  }
  for (format::ProcessReader* process : (*reader)->processes()) {
    found.keys.push_back(process->info().key);
    // Of a log that is shorter than its header the ring still tells all; who was killed before
    // there was a ring has marked nothing, or Required() says so.
    const std::string& problem = process->info().problem;
    if (!problem.empty() && problem.find("shorter than a log's header") == std::string::npos) {
      found.wrong.push_back(process->info().key + ": " + process->info().problem);
    }
    const format::ProcessInfo& info = process->info();
    Walk walk(all, &found, info.has_ring ? info.ring.pid : info.identity.pid);
    Status status = process->ForEachSession([&](const WordBatch& batch) {
      walk.Session(batch);
      return Status();
    });
    walk.EndSessions(process->info());
    (void)process->ForEachEvents([&](const WordBatch& batch) {
      walk.Drops(batch);
      return Status();
    });
    if (status.ok()) {
      status = process->ForEachEvents([&](const WordBatch& batch) {
        walk.Events(batch);
        return Status();
      });
    }
    if (!status.ok())
      found.wrong.push_back(found.keys.back() + ": " + std::string(status.message()));
    if (!process->damage().empty()) found.wrong.push_back(found.keys.back() + ": damaged");
  }
  return found;
}

}  // namespace crosscut::stress
