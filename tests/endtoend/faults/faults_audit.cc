#include "tests/endtoend/faults/faults_audit.h"

#include <cstring>

#include "src/format/format.h"
#include "src/format/ring.h"
#include "src/format/run_reader.h"

namespace crosscut::faults {
namespace {

struct Session {
  std::map<uint64_t, std::string> names;
  std::map<uint64_t, uint64_t> kinds;
  bool Nests(uint64_t name) const {
    const auto kind = kinds.find(name);
    return kind == kinds.end() || kind->second < format::kKindStep;
  }
};

struct Track {
  int64_t depth = 0;
  uint64_t kept = 0, dropped = 0, full = 0;
  bool ours = false;  // the drain
};

std::string TextAt(const uint64_t* words, size_t bytes) {
  return {reinterpret_cast<const char*>(words), bytes};
}

void TakeSession(const format::WordBatch& batch, Session* session, ProcessAudit* audit) {
  for (size_t at = 0; at < batch.words.size();) {
    const size_t n = format::EventLength(batch.words, at);
    if (n == 0) return;
    const uint64_t* p = batch.words.data() + at + 1;
    switch (batch.words[at] & format::kCodeMask) {
      case format::kName:
        session->names[p[0]] = TextAt(p + 3, p[2]);
        session->kinds[p[0]] = p[1] & 0xff;
        if (p[2] > audit->longest_name) audit->longest_name = p[2];
        break;
      case format::kStop: audit->stop_reason = static_cast<int64_t>(p[0]); break;
      case format::kMeta: {
        const std::string key = TextAt(p + 3, p[0]);
        const std::string value = TextAt(p + 3 + (p[0] + 7) / 8, p[1]);
        if (key == "pid") audit->pid = std::stoll(value);
        if (key == "start_method") audit->start_method = value;
        if (key == "parent_key") audit->parent_key = value;
        if (key == "ticks") audit->ticks = value;
        break;
      }
    }
    at += n;
  }
}

void TakeBegin(uint64_t name, const Session& session, int64_t* depth, ProcessAudit* audit) {
  if (session.Nests(name)) ++*depth;
  const auto text = session.names.find(name);
  if (text != session.names.end() && text->second.size() > 1000) ++audit->spans_named_long;
}

void TakeEvents(const format::WordBatch& batch, const Session& session,
                std::map<uint32_t, Track>* tracks, ProcessAudit* audit) {
  uint32_t track = batch.track;
  format::TickReader ticks(batch.base_tick);
  for (size_t at = 0; at < batch.words.size();) {
    const size_t n = format::EventLength(batch.words, at);
    if (n == 0) return;
    const auto code = static_cast<uint16_t>(batch.words[at] & format::kCodeMask);
    const uint64_t* p = batch.words.data() + at + 1;
    const uint64_t before = ticks.tick();
    if (ticks.Next(batch.words[at]) < before) ++audit->steps_back;
    at += n;
    if (code == format::kThread) {
      track = static_cast<uint32_t>(p[0]);
      if ((p[2] & format::kThreadContinues) == 0) (*tracks)[track].depth = 0;
      if ((p[2] & format::kThreadIsOurs) != 0) (*tracks)[track].ours = true;
    }
    Track& own = (*tracks)[track];
    if (code == format::kDrop) own.dropped += p[1];
    if (code == format::kDrop && p[0] == format::kDropFull) own.full += p[1];
    if (code == format::kThreadEnd) ++audit->threads_ended;
    if (code == format::kThread || code == format::kDrop || code == format::kThreadEnd) continue;
    ++own.kept;
    const bool begins = code >= format::kFirstNameCode || code == format::kBeginWide;
    if (begins) TakeBegin(code == format::kBeginWide ? p[0] : code, session, &own.depth, audit);
    const bool ends = code == format::kEnd || (code == format::kEndNamed && session.Nests(p[0]));
    if (ends && own.depth-- == 0) ++audit->unbalanced;
    if (code != format::kCounter) continue;
    const auto name = session.names.find(p[0]);
    const bool drains = name != session.names.end() && name->second.starts_with("crosscut.");
    if (drains) continue;
    ++audit->counters;
    if (name == session.names.end() || name->second != "seq") ++audit->unknown_names;
    audit->numbers[p[1] >> 40].push_back(p[1] & ((uint64_t{1} << 40) - 1));
  }
}

}  // namespace

Audit ReadRun(const std::string& dir) {
  Audit audit;
  Result<std::unique_ptr<format::RunReader>> run = format::RunReader::Open(dir);
  if (!run.ok()) {
    audit.error = run.status().message();
    return audit;
  }
  for (format::ProcessReader* process : (*run)->processes()) {
    ProcessAudit found;
    found.key = process->info().key;
    Session session;
    std::map<uint32_t, Track> tracks;
    Status status = process->ForEachSession([&](const format::WordBatch& batch) {
      TakeSession(batch, &session, &found);
      return Status();
    });
    if (status.ok()) {
      status = process->ForEachEvents([&](const format::WordBatch& batch) {
        TakeEvents(batch, session, &tracks, &found);
        return Status();
      });
    }
    if (!status.ok()) audit.error = status.message();
    for (const auto& [id, track] : tracks) {
      found.left_open += track.depth;
      if (track.ours) continue;
      found.kept += track.kept;
      found.dropped += track.dropped;
      found.full += track.full;
    }
    found.stopped = process->info().stopped;
    audit.processes.push_back(std::move(found));
  }
  return audit;
}

std::string GapIn(const std::vector<uint64_t>& numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == i + 1) continue;
    return "place " + std::to_string(i + 1) + " of " + std::to_string(numbers.size()) + " holds " +
           std::to_string(numbers[i]);
  }
  return "";
}

}  // namespace crosscut::faults
