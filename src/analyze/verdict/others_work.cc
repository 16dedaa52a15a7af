#include "src/analyze/verdict/others_work.h"

#include <algorithm>
#include <utility>

#include "src/analyze/verdict/process_lines.h"

namespace crosscut::analyze {
namespace {

constexpr LayerSet kProgramsWork = kHostBits & ~Bit(trace::Layer::kOverhead);
// Each process would look at all others.
constexpr size_t kMostStrangers = 64;

// A stretch of time in which a thread works at a line.
struct Piece {
  uint32_t process;
  int64_t begin_ns, end_ns;
  LineStretch at;
  Blamed blamed;   // of the process's time then, which its threads share
  int64_t ns = 0;  // that it gets, where several processes share the time
};

// Calls put(piece) for what `process` does in `times`, in order; those of equal times one behind
// the other.
template <class Put>
void ForEachPiece(const Context& context, trace::ProcessId process,
                  const std::vector<trace::Interval>& times, Idle idle, Put put) {
  const trace::Process& owner = context.trace().processes[process.value];
  ProcessLines lines(context, process);
  trace::Interval now = {};
  const auto add = [&](const LineStretch& at, const Blamed& blamed, ProcessLines::Who who) {
    const bool works = who != ProcessLines::Who::kNobody && !WasSeenWaiting(at);
    const bool counts = works || idle == Idle::kCounts || at.state.doing == Doing::kSleeping;
    if (counts) put(Piece{process.value, now.begin_ns, now.end_ns, at, blamed});
  };
  // Whoever waits for very many that live for a moment asks each for that moment.
  auto time = std::partition_point(times.begin(), times.end(), [&](const trace::Interval& one) {
    return one.end_ns <= owner.start_ns;
  });
  for (; time != times.end() && time->begin_ns < owner.end_ns; ++time) {
    lines.ForEach({std::max(time->begin_ns, owner.start_ns), std::min(time->end_ns, owner.end_ns)},
                  kProgramsWork, add,
                  [&](const LineStretch&, const trace::Interval& part) { now = part; });
  }
}

// Gives each instant to the processes that have pieces then, in equal parts, and what a process has
// to its threads. Requires: pieces of a process stand one behind the other, in order of time.
void Divide(std::vector<Piece>* pieces, BusyTimes* busy) {
  std::stable_sort(pieces->begin(), pieces->end(),
                   [](const Piece& a, const Piece& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Piece*> active;  // those of a process begin at once, so they stay together
  size_t next = 0;
  for (int64_t at = 0; next < pieces->size() || !active.empty();) {
    if (active.empty()) at = (*pieces)[next].begin_ns;
    for (; next < pieces->size() && (*pieces)[next].begin_ns <= at; ++next) {
      active.push_back(&(*pieces)[next]);
    }
    int64_t until = next < pieces->size() ? (*pieces)[next].begin_ns : INT64_MAX;
    for (const Piece* piece : active) until = std::min(until, piece->end_ns);
    const auto begins = [&](size_t i) {
      return i == 0 || active[i]->process != active[i - 1]->process;
    };
    int64_t processes = 0, left = until - at;
    for (size_t i = 0; i < active.size(); ++i) processes += begins(i);
    for (size_t i = 0, end; i < active.size(); --processes) {
      for (end = i + 1; end < active.size() && !begins(end);) ++end;
      int64_t of_process = left / processes;
      left -= of_process;
      for (; i < end; ++i) {
        const int64_t part = of_process / static_cast<int64_t>(end - i);
        active[i]->ns += part;
        of_process -= part;
      }
    }
    const auto at_line = [](const Piece* piece) { return MayBeBlamed(piece->at.line); };
    if (std::any_of(active.begin(), active.end(), at_line)) busy->Add({at, until});
    std::erase_if(active, [&](const Piece* piece) { return piece->end_ns <= until; });
    at = until;
  }
}

OthersWork SumOf(std::vector<Piece> pieces) {
  OthersWork work;
  std::erase_if(pieces, [](const Piece& piece) { return piece.begin_ns >= piece.end_ns; });
  auto busy = std::make_shared<BusyTimes>();
  Divide(&pieces, busy.get());
  work.busy = std::move(busy);
  for (const Piece& piece : pieces) {
    if (piece.at.state.name.valid()) work.names[piece.at.state.name.value] += piece.ns;
    Blamed blamed = piece.blamed;
    const double part =
        static_cast<double>(piece.ns) / static_cast<double>(std::max<int64_t>(blamed.ns, 1));
    blamed.variance *= part * part;
    blamed.ns = piece.ns;
    work.lines[piece.at.line].Add(blamed);
    if (IsSampled(piece.at.line.kind)) work.known_ns += piece.ns;
  }
  return work;
}

WorkIndex IndexOf(const Context& context, uint32_t process) {
  const trace::Process& owner = context.trace().processes[process];
  trace::Column<WorkIndex::Piece> pieces;
  const auto add = [&](const Piece& piece) {
    if (!IsSampled(piece.at.line.kind)) return;
    const ThreadSample* sample = piece.at.sample;
    const bool beside = !pieces.empty() && pieces.back().begin_ns == piece.begin_ns;
    const uint32_t number = beside ? pieces.back().number + 1 : 0;
    for (size_t i = pieces.size() - number; i < pieces.size(); ++i) ++pieces[i].threads;
    pieces.push_back({piece.begin_ns, piece.end_ns, piece.at.line, piece.at.state.name, number + 1,
                      number, sample == nullptr ? INT64_MIN : sample->at_ns,
                      piece.blamed.variance});
  };
  ForEachPiece(context, {process}, {{owner.start_ns, owner.end_ns}}, Idle::kSleeps, add);
  return WorkIndex(std::move(pieces));
}

}  // namespace

OthersWork WorkIn(const Context& context, trace::ProcessId process,
                  const std::vector<trace::Interval>& times, Idle idle) {
  std::vector<Piece> pieces;
  ForEachPiece(context, process, times, idle, [&](const Piece& p) { pieces.push_back(p); });
  return SumOf(std::move(pieces));
}

RelativesWork::RelativesWork(const Context& context)
    : context_(context), children_(context.trace().processes.size()) {
  const std::vector<trace::Process>& processes = context.trace().processes;
  for (uint32_t p = 0; p < processes.size(); ++p) {
    const trace::ProcessId parent = processes[p].parent;
    if (parent.valid() && parent.value != p) children_[parent.value].push_back(p);
  }
}

// In the trace's order. A process may be its own ancestor, as a damaged log may name it.
std::vector<uint32_t> RelativesWork::DescendantsOf(uint32_t process) const {
  std::vector<uint32_t> out = children_[process];
  for (size_t i = 0; i < out.size(); ++i) {
    for (const uint32_t child : children_[out[i]]) {
      if (child != process) out.push_back(child);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

OthersWork RelativesWork::Of(const std::vector<uint32_t>& processes,
                             const std::vector<trace::Interval>& times) const {
  std::vector<Piece> pieces;
  const auto add = [&](const Piece& piece) {
    if (IsSampled(piece.at.line.kind)) pieces.push_back(piece);
  };
  for (const uint32_t p : processes) ForEachPiece(context_, {p}, times, Idle::kSleeps, add);
  return SumOf(std::move(pieces));
}

OthersWork RelativesWork::OfParent(uint32_t parent, const std::vector<trace::Interval>& times) {
  constexpr int kFew = 2;  // are answered by walking, which takes less memory
  asked_ = parent == parent_ ? asked_ + 1 : 1;
  if (parent != parent_) index_.reset();
  parent_ = parent;
  if (asked_ <= kFew) return Of({parent}, times);
  if (index_ == nullptr) index_ = std::make_unique<WorkIndex>(IndexOf(context_, parent));
  return index_->In(times);
}

OthersWork RelativesWork::In(trace::ProcessId process, const std::vector<trace::Interval>& times) {
  const std::vector<trace::Process>& processes = context_.trace().processes;
  const std::vector<uint32_t> descendants = DescendantsOf(process.value);
  OthersWork work = Of(descendants, times);
  if (work.known_ns > 0) return work;
  const trace::ProcessId parent = processes[process.value].parent;
  const auto descends = [&](uint32_t p) {
    return std::binary_search(descendants.begin(), descendants.end(), p);
  };
  const bool has_parent = parent.valid() && parent != process && !descends(parent.value);
  if (has_parent) work = OfParent(parent.value, times);
  if (work.known_ns > 0 || processes.size() > kMostStrangers) return work;
  std::vector<uint32_t> strangers;
  for (uint32_t p = 0; p < processes.size(); ++p) {
    const bool asked = p == process.value || (has_parent && p == parent.value) || descends(p);
    if (!asked) strangers.push_back(p);
  }
  return Of(strangers, times);
}

}  // namespace crosscut::analyze
