#include "src/format/process_state.h"

namespace crosscut::format {

void SeenWords::Add(uint64_t fill, uint32_t from, uint32_t to) {
  if (fill == 0 || from >= to) return;
  auto& ranges = fills_[fill];
  auto at = std::lower_bound(ranges.begin(), ranges.end(), std::make_pair(from, uint32_t{0}));
  if (at != ranges.begin() && std::prev(at)->second >= from) {
    --at;
    at->second = std::max(at->second, to);
  } else {
    at = ranges.insert(at, {from, to});
  }
  auto next = at + 1;
  while (next != ranges.end() && next->first <= at->second) {
    at->second = std::max(at->second, next->second);
    next = ranges.erase(next);
    at = next - 1;
  }
}

std::vector<std::pair<uint32_t, uint32_t>> SeenWords::Missing(uint64_t fill, uint32_t from,
                                                              uint32_t to) const {
  std::vector<std::pair<uint32_t, uint32_t>> missing;
  const auto found = fills_.find(fill);
  if (found != fills_.end() && fill != 0) {
    for (const auto& [begin, end] : found->second) {
      if (end <= from) continue;
      if (begin >= to) break;
      if (begin > from) missing.emplace_back(from, begin);
      from = std::max(from, end);
    }
  }
  if (from < to) missing.emplace_back(from, to);
  return missing;
}

namespace {

// The words [from, to) of `piece`, counted in its ring chunk, with the right base tick; false where
// a cut would fall inside an event.
bool CutPiece(const Piece& piece, uint32_t from, uint32_t to, Piece* part) {
  *part = piece;
  const size_t begin = from - piece.first_word, end = to - piece.first_word;
  TickReader clock(piece.base_tick);
  size_t at = 0;
  for (const auto event : EventsOf(piece.words)) {
    if (at >= begin) break;
    clock.Next(event[0]);
    at += event.size();
  }
  if (at != begin || end > piece.words.size()) return false;
  part->first_word = from;
  part->base_tick = clock.tick();
  part->words = piece.words.subspan(begin, end - begin);
  return true;
}

WordBatch FromRing(const Piece& piece) {
  WordBatch out;
  out.fill = piece.fill;
  out.first_word = piece.first_word;
  out.base_tick = piece.base_tick;
  out.words = piece.words;
  out.from_ring = true;
  return out;
}

}  // namespace

void ProcessReader::State::OpenLog() {
  auto opened = LogReader::Open(info.log_path);
  if (!opened.ok()) {
    info.problem = opened.status().message();
    return;
  }
  log = std::move(*opened);
  info.identity = log->identity();
  log->Rest();
}

bool ProcessReader::State::Matches(const RingSnapshot& candidate,
                                   const std::string& log_name) const {
  if (log != nullptr) return candidate.header.nonce == info.identity.nonce;
  return log_name == candidate.header.log_name;
}

void ProcessReader::State::TakeRing(RingSnapshot snapshot) {
  ring = std::move(snapshot);
  has_ring = info.has_ring = true;
  info.ring = ring.header;
  info.ring_path = ring.path;
  if (log == nullptr) {
    info.identity = {ring.header.nonce,         ring.header.pid,
                     ring.header.pid_start,     ring.header.start_tick,
                     ring.header.pid_namespace, static_cast<uint32_t>(ring.header.boot)};
  }
  if (info.key.empty()) {
    info.key = ring.header.log_name;
    const size_t dot = info.key.rfind('.');
    if (dot != std::string::npos) info.key.resize(dot);
  }
  for (const RingChunkCopy& chunk : ring.chunks) damaged_ring_chunks += chunk.damaged;
}

void ProcessReader::State::Judge() {
  info.finished = log != nullptr && log->complete();
  if (info.finished) {
    info.liveness = has_ring ? ring.owner : base::Liveness::kUnknown;
    return;
  }
  if (has_ring) {
    info.liveness = ring.owner;
    const uint32_t state = ring.header.state;
    info.stopped = state == kRingStopped || state == kRingFinished || state == kRingDormant;
  } else {
    base::ProcessIdentity owner;
    owner.pid = info.identity.pid;
    owner.start = info.identity.pid_start;
    owner.pid_namespace = info.identity.pid_namespace;
    owner.boot = info.identity.boot;
    info.liveness = base::LookUp(owner);
  }
}

Status ProcessReader::State::WalkLog(bool session, const Visit& visit) {
  if (log == nullptr) return {};
  const Status status = WalkChunks(session, visit);
  log->Rest();
  return status;
}

Status ProcessReader::State::WalkChunks(bool session, const Visit& visit) {
  LogBatch batch;
  const ChunkType wanted = session ? kChunkSession : kChunkEvents;
  bool damaged = false;
  for (const LogChunk& chunk : log->chunks()) {
    if (chunk.type != wanted) continue;
    Status status = log->Read(chunk, &batch);
    if (status.code() == Status::Code::kCorrupt || status.code() == Status::Code::kIo) {
      damaged = true;
      continue;
    }
    if (!status.ok()) return status;
    uint32_t track = batch.track;
    size_t offset = 0;
    for (size_t i = 0; i < batch.pieces.size(); ++i) {
      const PieceOrigin& origin = batch.pieces[i];
      const std::span<const uint64_t> words(batch.words.data() + offset, origin.words);
      offset += origin.words;
      const uint32_t end = origin.first_word + origin.words;
      const auto missing = seen.Missing(origin.fill, origin.first_word, end);
      seen.Add(origin.fill, origin.first_word, end);
      Piece whole = {origin.fill, origin.first_word, origin.base_tick, words};
      uint64_t fresh = 0;
      for (const auto& [from, to] : missing) {
        Piece part;
        if (!CutPiece(whole, from, to, &part)) continue;
        fresh += part.words.size();
        WordBatch out;
        out.track = track;
        out.fill = part.fill;
        out.first_word = part.first_word;
        out.base_tick = part.base_tick;
        out.words = part.words;
        out.has_open_names = i == 0 && from == origin.first_word;
        if (out.has_open_names) out.open_names = batch.open_names;
        out.after_damage = damaged;
        damaged = false;
        status = session ? visit(out) : SplitTracks(out, &track, visit);
        if (!status.ok()) return status;
      }
      info.log_words += fresh;
      info.duplicate_words += origin.words - fresh;
    }
  }
  return {};
}

Status ProcessReader::State::WalkRing(bool session, const VisitPiece& visit) {
  if (!has_ring) return {};
  struct Part {  // what one thread wrote into a chunk in one go
    Piece piece;
    uint32_t track;
    uint64_t tick;  // of its first event
  };
  std::vector<Part> parts;
  const auto add = [&parts](const WordBatch& of) {
    const uint64_t tick = TickReader(of.base_tick).Next(of.words[0]);
    parts.push_back({{of.fill, of.first_word, of.base_tick, of.words}, of.track, tick});
    return Status();
  };
  for (const RingChunkCopy& chunk : ring.chunks) {
    if ((chunk.track == 0) != session) continue;
    const uint32_t end = static_cast<uint32_t>(kRingChunkHeaderWords + chunk.words.size());
    const Piece whole = {chunk.fill, kRingChunkHeaderWords, chunk.base_tick, chunk.words};
    uint64_t fresh = 0;
    for (const auto& [from, to] : seen.Missing(chunk.fill, kRingChunkHeaderWords, end)) {
      Piece part;
      if (!CutPiece(whole, from, to, &part)) continue;
      fresh += part.words.size();
      uint32_t track = chunk.track;
      const auto before = whole.words.first(from - kRingChunkHeaderWords);
      for (const auto event : EventsOf(before)) {
        if ((event[0] & kCodeMask) == kThread) track = static_cast<uint32_t>(event[1]);
      }
      if (Status status = SplitTracks(FromRing(part), &track, add); !status.ok()) return status;
    }
    info.ring_words += fresh;
    info.duplicate_words += whole.words.size() - fresh;
  }
  // A thread that finds no clean chunk goes on in one that an ended thread left, and that may have
  // been claimed before the thread's last one: fills do not tell the order of its parts.
  if (!session) {
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.tick < b.tick; });
  }
  for (const Part& part : parts) {
    if (Status status = visit(part.piece, part.track); !status.ok()) return status;
  }
  return {};
}

Status ProcessReader::State::WalkDrops(const DropTotals& told, const Visit& visit) {
  if (!has_ring) return {};
  for (const RingDropSlot& slot : ring.drops) {
    const uint32_t track = static_cast<uint32_t>(slot.track - 1);
    const auto found = told.find({track, slot.reason});
    const uint64_t known = found == told.end() ? 0 : found->second;
    if (slot.count <= known) continue;
    const uint64_t words[] = {slot.last_tick << kCodeBits | kDrop, slot.reason, slot.count - known,
                              slot.first_tick, slot.last_tick};
    WordBatch out;
    out.track = track;
    out.base_tick = slot.last_tick;
    out.words = words;
    out.from_ring = true;
    if (Status status = visit(out); !status.ok()) return status;
  }
  return {};
}

void ProcessReader::State::CountDrops(const WordBatch& batch, DropTotals* told) {
  uint32_t track = batch.track;
  for (const auto event : EventsOf(batch.words)) {
    const uint64_t code = event[0] & kCodeMask;
    if (code == kThread) track = static_cast<uint32_t>(event[1]);
    if (code == kDrop) (*told)[{track, event[1]}] += event[2];
  }
}

void ProcessReader::State::NoteStops(std::span<const uint64_t> words) {
  for (const auto event : EventsOf(words)) {
    const uint64_t code = event[0] & kCodeMask;
    if (code == kStart || code == kStop) info.stopped = code == kStop;
  }
}

void ProcessReader::State::ListDamage() {
  damage.clear();
  if (log == nullptr) return;
  damage = log->damage();
  const bool grows = info.liveness != base::Liveness::kDead && !info.finished;
  if (grows && !damage.empty() && damage.back().offset >= log->readable_end()) damage.pop_back();
}

Status SplitTracks(const WordBatch& batch, uint32_t* track,
                   const std::function<Status(const WordBatch&)>& visit) {
  WordBatch out = batch;
  TickReader clock(batch.base_tick);
  size_t begin = 0, at = 0;
  auto flush = [&]() -> Status {
    if (at == begin) return {};
    out.track = *track;
    out.words = batch.words.subspan(begin, at - begin);
    out.first_word = batch.first_word + static_cast<uint32_t>(begin);
    Status status = visit(out);
    out.has_open_names = false;
    out.open_names = {};
    out.after_damage = false;
    return status;
  };
  while (at < batch.words.size()) {
    const size_t length = EventLength(batch.words, at);
    if (length == 0) return Status::Corrupt("words are not whole events");
    if ((batch.words[at] & kCodeMask) == kThread) {
      if (Status status = flush(); !status.ok()) return status;
      *track = static_cast<uint32_t>(batch.words[at + 1]);
      out.base_tick = clock.tick();
      begin = at;
    }
    clock.Next(batch.words[at]);
    at += length;
  }
  return flush();
}

ProcessReader::ProcessReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProcessReader::~ProcessReader() = default;
const ProcessInfo& ProcessReader::info() const { return state_->info; }
const std::vector<LogDamage>& ProcessReader::damage() const {
  state_->ListDamage();
  return state_->damage;
}
uint64_t ProcessReader::damaged_ring_chunks() const { return state_->damaged_ring_chunks; }

Status ProcessReader::ForEachSession(const std::function<Status(const WordBatch&)>& visit) {
  state_->seen.Clear();
  auto watch = [&](const WordBatch& batch) {
    state_->NoteStops(batch.words);
    return visit(batch);
  };
  if (Status status = state_->WalkLog(true, watch); !status.ok()) return status;
  return state_->WalkRing(true,
                          [&](const Piece& piece, uint32_t) { return watch(FromRing(piece)); });
}

Status ProcessReader::ForEachEvents(const std::function<Status(const WordBatch&)>& visit) {
  state_->seen.Clear();
  State::DropTotals told;
  auto watch = [&](const WordBatch& batch) {
    if (state_->has_ring && !state_->ring.drops.empty()) State::CountDrops(batch, &told);
    return visit(batch);
  };
  if (Status status = state_->WalkLog(false, watch); !status.ok()) return status;
  Status status = state_->WalkRing(false, [&](const Piece& piece, uint32_t track) {
    return SplitTracks(FromRing(piece), &track, watch);
  });
  if (!status.ok()) return status;
  return state_->WalkDrops(told, visit);
}

}  // namespace crosscut::format
