// A run directory: every process's session stream, then its threads' words.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "src/base/counted.h"
#include "src/base/file.h"
#include "src/format/notes.h"
#include "src/format/run_reader.h"
#include "src/import/importer.h"
#include "src/import/native/native_cells.h"
#include "src/import/native/native_clock.h"
#include "src/import/native/native_collected.h"
#include "src/import/native/native_events.h"
#include "src/import/native/native_facts.h"
#include "src/import/native/native_session.h"
#include "src/trace/gaps.h"

namespace crosscut::import {
namespace {

// Its parent waited to be asked, too; one that never was leaves nothing.
bool IsArmed(const trace::Trace& trace, const trace::Process& process) {
  return std::any_of(process.meta.begin(), process.meta.end(),
                     [&](const auto& fact) { return trace.text(fact.first) == "armed"; });
}

namespace fs = std::filesystem;

class NativeImport {
 public:
  explicit NativeImport(const Input& input) : dir_(input.path), purpose_(input.purpose) {}
  Status TakeProcess(format::ProcessReader* reader);
  Status CheckHost(const std::string& key, const NativeSession& session);
  void TellRefused(const std::vector<std::string>& rings);
  Result<trace::Trace> Finish(const format::RunReader& run);

 private:
  void TellDamage(const format::ProcessReader& reader, const NativeEvents& events,
                  const NativeSession& session, trace::ProcessId process);
  void TakeProfiles(const NativeSession& session, const NativeClock& clock,
                    trace::ProcessId process);
  void LinkParents();
  void FindReplaced();
  void NameTheRest();
  void TellNotes();

  std::string dir_;
  Purpose purpose_;
  trace::Builder builder_;
  std::map<std::string, trace::ProcessId, std::less<>> by_key_;
  std::vector<std::pair<trace::ProcessId, std::string>> parent_keys_;
  // A sentence; one about a process ("...: its log is damaged") is put behind what people know it
  // by, when all are read. With a count, its text is that of base::Counted.
  struct Gap {
    std::string text, key;
    trace::ProcessId process = trace::ProcessId::None();
    uint64_t count = 0;
  };
  void TellGaps(trace::Trace* trace) const;
  std::vector<Gap> gaps_;
  Cells cells_;                 // of all processes: a forked child runs its parent's
  std::string boot_id_, host_;  // of the first process that states them
  bool has_realtime_ = false;
  int64_t realtime_offset_ns_ = 0;
  bool damaged_ = false;
};

// "MULT/SHIFT", as in the ring's header.
NativeClock::Rate RateOf(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos) return {};
  return {strtoull(text.c_str(), nullptr, 10),
          static_cast<uint32_t>(strtoul(text.c_str() + slash + 1, nullptr, 10))};
}

NativeClock ClockOf(const NativeSession& session, const format::ProcessInfo& info) {
  std::vector<Anchor> anchors = session.monotonic;
  NativeClock::Rate rate = RateOf(std::string(session.Meta("ns_per_tick")));
  if (info.has_ring) {
    rate = {info.ring.ns_mult, info.ring.ns_shift};
    if (anchors.empty()) anchors.push_back({info.ring.anchor_tick, info.ring.anchor_ns, 0});
  }
  return NativeClock(std::move(anchors), rate);
}

Status NativeImport::TakeProcess(format::ProcessReader* reader) {
  const format::ProcessInfo& info = reader->info();
  if (!info.problem.empty()) {
    gaps_.push_back({" could not be read: " + info.problem + ".", info.key});
    damaged_ = true;
    if (info.log_path.empty() && !info.has_ring) return {};
  }
  NativeSession session;
  session.cells = cells_;
  if (Status status = ReadSession(reader, &builder_, &session); !status.ok()) return status;
  if (Status status = CheckHost(info.key, session); !status.ok()) return status;
  const trace::ProcessId id = builder_.AddProcess(info.key);
  if (!info.problem.empty()) gaps_.back().process = id;
  by_key_[info.key] = id;
  const NativeClock clock = ClockOf(session, info);
  std::vector<uint64_t> stops;
  for (const NativeSession::Edge& edge : session.edges) {
    if (edge.code == format::kStop) stops.push_back(edge.tick);
  }
  NativeEvents events(&builder_, id, &session, &clock, std::move(stops));
  // Of a process that was killed, its last event is the only sign of when.
  const bool told = info.complete() || info.liveness == base::Liveness::kAlive;
  if (purpose_ != Purpose::kFacts || !told) {
    const Status status =
        reader->ForEachEvents([&](const format::WordBatch& batch) { return events.Take(batch); });
    if (!status.ok()) return status;
  }

  trace::Process& process = builder_.process(id);
  FillProcess(&builder_, info, session, &process);
  FillWindow(info, session, clock, {events.first_tick(), events.last_tick()}, &process);
  const std::string_view ticks = session.Meta("ticks");
  process.clocks.push_back(
      {builder_.Text(ticks.empty() ? "ticks" : ticks), clock.anchors(), clock.error_ns()});
  if (clock.backward() != 0) {
    gaps_.push_back({"{reading|readings} of its clock ran backward and {was|were} left out.",
                     info.key, id, static_cast<uint64_t>(clock.backward())});
  }
  if (const std::string_view lead = session.Meta("lead_track"); !lead.empty()) {
    uint32_t track = 0;
    std::from_chars(lead.data(), lead.data() + lead.size(), track);
    process.lead = events.TrackOf(track);
  }
  events.Finish(process.end_ns);
  if (purpose_ != Purpose::kFacts) TakeProfiles(session, clock, id);
  parent_keys_.emplace_back(id, session.Meta("parent_key"));
  cells_ = std::move(session.cells);
  TellDamage(*reader, events, session, id);
  if (!has_realtime_ && !session.realtime.empty()) {
    const Anchor& anchor = session.realtime.front();
    realtime_offset_ns_ = anchor.ns - clock.ToNs(anchor.tick);
    has_realtime_ = true;
  }
  return {};
}

// Of two boots neither the clocks nor the process ids can be compared.
Status NativeImport::CheckHost(const std::string& key, const NativeSession& session) {
  const std::string boot(session.Meta("boot_id")), host(session.Meta("host"));
  if (boot.empty()) return {};
  if (boot_id_.empty()) {
    boot_id_ = boot;
    host_ = host;
  }
  if (boot == boot_id_) return {};
  return Status::Invalid(dir_ + " holds the logs of two hosts, or of two boots of one (" + host_ +
                         ", and " + host + " with " + key +
                         "), whose clocks cannot be compared: record each host into a folder of " +
                         "its own, such as with -o 'RUN/%h'");
}

void NativeImport::TellRefused(const std::vector<std::string>& rings) {
  if (rings.empty()) return;
  gaps_.push_back(
      {base::Counted(rings.size(),
                     "{ring|rings} of this run cannot be trusted and {was|were} not read: ") +
           rings.front() + (rings.size() == 1 ? "." : ", ..."),
       ""});
  damaged_ = true;
}

void NativeImport::TakeProfiles(const NativeSession& session, const NativeClock& clock,
                                trace::ProcessId process) {
  int64_t offset = 0;
  if (!session.realtime.empty()) {
    offset = session.realtime.front().ns - clock.ToNs(session.realtime.front().tick);
  }
  const CollectedTold told = TakeCollected(dir_, session, {&builder_, process, offset});
  damaged_ |= !told.problems.empty();
  for (const auto* sentences : {&told.problems, &told.words}) {
    for (const std::string& sentence : *sentences) {
      const auto key = builder_.trace().text(builder_.process(process).key);
      gaps_.push_back({": " + sentence + ".", std::string(key), process});
    }
  }
}

void NativeImport::TellDamage(const format::ProcessReader& reader, const NativeEvents& events,
                              const NativeSession& session, trace::ProcessId process) {
  std::vector<std::string> found;
  for (const format::LogDamage& damage : reader.damage()) {
    std::string what = "its log is damaged at byte " + std::to_string(damage.offset) + " (" +
                       std::to_string(damage.bytes) + " bytes: " + damage.reason + ")";
    if (damage.has_events) what += "; " + base::Counted(damage.words, "{word is|words are} lost");
    found.push_back(what);
  }
  if (const uint64_t chunks = reader.damaged_ring_chunks(); chunks != 0) {
    found.push_back(base::Counted(
        chunks, "{chunk of its ring ends|chunks of its ring end} in words that cannot be read"));
  }
  if (const uint64_t words = events.unreadable_words() + session.damaged_words; words != 0) {
    found.push_back(base::Counted(words, "{word|words} could not be understood"));
  }
  if (events.unknown_names() != 0) {
    found.push_back(base::Counted(events.unknown_names(),
                                  "{event names|events name} something that was never introduced"));
  }
  const auto gap = [&](uint64_t count, const char* what) {
    if (count == 0) return;
    gaps_.push_back({what, reader.info().key, process, count});
  };
  gap(events.unseen_frees(),
      "{block of memory was|blocks of memory were} freed unseen: {it counts|they count} as freed "
      "when {its|their} address was handed out again.");
  gap(events.held_at_end(),
      "{block of memory was|blocks of memory were} held when allocations were recorded no more: "
      "{it "
      "counts|they count} as freed there.");
  gap(events.unnamed(),
      "{event has lost its name|events have lost their names}, for which there was no room: {it "
      "stands|they stand} under (unnamed).");
  gap(events.samples().in_changed_files(),
      "{sample lies in a library that is another build|samples lie in libraries that are other "
      "builds} here than the program ran, or may be: {its function has|their functions have} no "
      "name.");
  gap(events.samples().deeper(),
      "{sample has|samples have} only the inner part of {its|their} Python stack: it was deeper "
      "than is read.");
  gap(events.samples().changed_stacks(),
      "{sample misses|samples miss} frames of {its|their} Python stack, perhaps the program's own "
      "line: it changed each time that it was read.");
  gap(events.samples().unsure(),
      "{sample takes its function|samples take their functions} from libraries as they are now: "
      "the log does not say which builds the program ran.");
  gap(session.cut_names, "{name was|names were} longer than 1 MiB and {is|are} cut.");
  gap(session.lost_names, "{name|names} could not be kept.");
  for (const std::string& what : found) {
    gaps_.push_back({": " + what + ".", reader.info().key, process});
    damaged_ = true;
  }
}

void NativeImport::LinkParents() {
  for (const auto& [child, key] : parent_keys_) {
    trace::Process& process = builder_.process(child);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      process.parent = found->second;
      // A child that states no name of its own runs its parent's program, where it is no new one.
      const std::string_view method = builder_.trace().text(process.start_method);
      if (!process.name.valid() && method != "subprocess" && method != "exec") {
        process.name = builder_.process(found->second).name;
      }
    } else if (!key.empty() && !IsArmed(builder_.trace(), process)) {
      const std::string own(builder_.trace().text(process.key));
      gaps_.push_back({": its parent " + key + " left no log in this run.", own, child});
    }
  }
}

// An image that exec replaced ends without a word: the next image of the same process tells.
void NativeImport::FindReplaced() {
  const trace::StringId end = builder_.Text("end"), exec = builder_.Text("exec");
  for (const auto& [next, key] : parent_keys_) {
    if (builder_.process(next).start_method != exec) continue;
    const auto found = by_key_.find(key);
    if (found == by_key_.end() || found->second == next) continue;
    trace::Process& replaced = builder_.process(found->second);
    if (replaced.pid != builder_.process(next).pid) continue;
    replaced.meta.emplace_back(end, exec);
    if (!EndedWithoutStopping(builder_.trace(), replaced)) continue;
    replaced.complete = true;
    replaced.why_incomplete = builder_.Text("");
  }
}

void NativeImport::NameTheRest() {
  for (trace::Process& process : builder_.trace().processes) {
    for (const char* key : {"argv0", "executable"}) {
      for (const auto& [name, value] : process.meta) {
        if (process.name.valid() || builder_.trace().text(name) != key) continue;
        const std::string_view path = builder_.trace().text(value);
        process.name = builder_.Text(path.substr(path.rfind('/') + 1));
      }
    }
  }
}

void NativeImport::TellNotes() {
  std::vector<Gap> notes;
  for (std::string& note : format::ReadNotes(dir_)) {
    note[0] = static_cast<char>(toupper(static_cast<unsigned char>(note[0])));
    notes.push_back({note + ".", ""});
  }
  gaps_.insert(gaps_.begin(), notes.begin(), notes.end());
}

void NativeImport::TellGaps(trace::Trace* trace) const {
  std::map<std::string_view, uint64_t> counts;  // of all processes, by text
  for (const Gap& gap : gaps_) counts[gap.text] += gap.count;
  trace::ByProcess sentences;
  for (const Gap& gap : gaps_) {
    const std::string who = gap.process.valid() ? trace->title(gap.process) : gap.key;
    const std::string text =
        gap.count == 0 ? gap.text : ": " + base::Counted(counts[gap.text], gap.text);
    if (who.empty()) {
      trace->gaps.push_back(text);
    } else {
      sentences.Add(who, "{Process |}", "", text);
    }
  }
  sentences.Tell(&trace->gaps);
}

Result<trace::Trace> NativeImport::Finish(const format::RunReader& run) {
  LinkParents();
  FindReplaced();
  NameTheRest();
  TellNotes();
  if (run.run_json().empty())
    gaps_.push_back({"run.json is missing: the command is not known.", ""});
  trace::Trace trace = builder_.Finish();
  NameRanks(&trace);
  if (std::string told = ExplainWorkers(&trace); !told.empty()) trace.gaps.push_back(told);
  TellGaps(&trace);
  trace.damaged = damaged_;
  trace.realtime_offset_ns = realtime_offset_ns_;
  if (!run.run_json().empty() && !FillRun(run.run_json(), &trace)) {
    trace.gaps.push_back("run.json cannot be read: the command is not known.");
  }
  if (trace.processes.empty()) {
    if (damaged_) return Status::Corrupt(run.dir() + ": " + trace.gaps.front());
    trace.gaps.insert(trace.gaps.begin(), "No process of this run recorded anything.");
  }
  return trace;
}

}  // namespace

bool SniffNative(const Input& input) {
  if (!input.directory) return false;
  std::error_code error;
  if (fs::exists(fs::path(input.path) / "run.json", error)) return true;
  for (const auto& entry : fs::directory_iterator(input.path, error)) {
    if (entry.path().extension() == ".crosscut") return true;
  }
  return false;
}

Result<trace::Trace> MakeNative(const Input& input) {
  auto run = format::RunReader::Open(input.path);
  if (!run.ok()) return run.status();
  NativeImport import(input);
  import.TellRefused((*run)->refused_rings());
  for (format::ProcessReader* reader : (*run)->processes()) {
    if (Status status = import.TakeProcess(reader); !status.ok()) {
      return status.At(reader->info().key);
    }
  }
  return import.Finish(**run);
}

}  // namespace crosscut::import
