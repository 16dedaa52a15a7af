#include "src/analyze/verdict/others_work.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "src/analyze/collectives/matches.h"
#include "src/analyze/verdict/process_lines.h"

namespace crosscut::analyze {
namespace {

constexpr LayerSet kProgramsWork = kHostBits & ~Bit(trace::Layer::kOverhead);
// Each process would look at all others.
constexpr size_t kMostStrangers = 64;
// In a chain each process would look at all that follow it.
constexpr int kMostGenerations = 64;

WorkPieces PiecesOf(const Context& context, uint32_t process, Idle idle) {
  const trace::Process& owner = context.trace().processes[process];
  WorkPieces pieces;
  ProcessLines lines(context, {process});
  if (idle == Idle::kSleeps && !lines.knows_any()) return pieces;
  trace::Interval now = {};
  size_t first = 0;  // piece of that time
  const auto end_part = [&] {
    const auto threads = static_cast<uint32_t>(pieces.size() - first);
    for (; first < pieces.size(); ++first) pieces[first].threads = threads;
  };
  const auto add = [&](const LineStretch& at, const Blamed& blamed, ProcessLines::Who who) {
    const bool works = (who == ProcessLines::Who::kLead || who == ProcessLines::Who::kOther) &&
                       !WasSeenWaiting(at);
    if (idle == Idle::kSleeps && (!IsSampled(at.line.kind) ||
                                  (!works && (at.state.doing != Doing::kSleeping || Polls(at))))) {
      return;
    }
    pieces.push_back({now.begin_ns, now.end_ns, at.line, at.state.name, 1,
                      at.sample == nullptr ? INT64_MIN : at.sample->at_ns, blamed.variance});
  };
  lines.ForEach({owner.start_ns, owner.end_ns}, kProgramsWork, add,
                [&](const LineStretch&, const trace::Interval& part) {
                  end_part();
                  now = part;
                });
  end_part();
  return pieces;
}

// What of the pieces lies in the times.
WorkPieces Within(const WorkPieces& pieces, const std::vector<trace::Interval>& times) {
  WorkPieces out;
  size_t next = 0;
  for (const trace::Interval& time : times) {
    while (next < pieces.size() && pieces[next].end_ns <= time.begin_ns) ++next;
    for (size_t i = next; i < pieces.size() && pieces[i].begin_ns < time.end_ns; ++i) {
      out.push_back(pieces[i]);
      out.back().begin_ns = std::max(pieces[i].begin_ns, time.begin_ns);
      out.back().end_ns = std::min(pieces[i].end_ns, time.end_ns);
    }
  }
  return out;
}

}  // namespace

OthersWork WorkIn(const Context& context, trace::ProcessId process,
                  const std::vector<trace::Interval>& times, Idle idle) {
  const WorkPieces pieces = PiecesOf(context, process.value, idle);
  return WorkIndex({&pieces}).In(times);
}

RelativesWork::RelativesWork(const Context& context)
    : context_(context),
      children_(context.trace().processes.size()),
      pieces_(context.trace().processes.size()) {
  const std::vector<trace::Process>& processes = context.trace().processes;
  for (uint32_t p = 0; p < processes.size(); ++p) {
    const trace::ProcessId parent = processes[p].parent;
    if (parent.valid() && parent.value != p) children_[parent.value].push_back(p);
  }
}

// In the trace's order. A process may be its own ancestor, as a damaged log may name it.
std::vector<uint32_t> RelativesWork::DescendantsOf(uint32_t process) const {
  std::vector<uint32_t> out = children_[process];
  size_t next = 0;
  for (int generation = 1; generation < kMostGenerations && next < out.size(); ++generation) {
    for (const size_t end = out.size(); next < end; ++next) {
      for (const uint32_t child : children_[out[next]]) {
        if (child != process) out.push_back(child);
      }
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

const WorkPieces& RelativesWork::PiecesOf(uint32_t process) const {
  std::unique_ptr<const WorkPieces>& pieces = pieces_[process];
  if (pieces == nullptr) {
    pieces =
        std::make_unique<const WorkPieces>(analyze::PiecesOf(context_, process, Idle::kSleeps));
  }
  return *pieces;
}

WorkIndex RelativesWork::IndexOf(const std::vector<uint32_t>& processes) const {
  std::vector<const WorkPieces*> pieces;
  for (const uint32_t p : processes) {
    if (!PiecesOf(p).empty()) pieces.push_back(&PiecesOf(p));
  }
  return WorkIndex(std::move(pieces));
}

const WorkIndex& RelativesWork::IndexOfDescendants(uint32_t process) const {
  if (process != ancestor_ || of_descendants_ == nullptr) {
    of_descendants_ = std::make_unique<const WorkIndex>(IndexOf(DescendantsOf(process)));
    ancestor_ = process;
  }
  return *of_descendants_;
}

// Its relatives do nothing then. If it does nothing itself, the others are all there are.
OthersWork RelativesWork::OfAllOthers(uint32_t process,
                                      const std::vector<trace::Interval>& times) const {
  int64_t own_ns = 0;
  for (const WorkPiece& piece : Within(PiecesOf(process), times)) {
    own_ns += piece.end_ns - piece.begin_ns;
  }
  std::vector<uint32_t> all(pieces_.size());
  std::iota(all.begin(), all.end(), 0u);
  if (own_ns == 0) {
    if (of_all_ == nullptr) of_all_ = std::make_unique<const WorkIndex>(IndexOf(all));
    return of_all_->In(times);
  }
  std::vector<WorkPieces> within;
  std::vector<const WorkPieces*> processes;
  for (const uint32_t p : all) {
    if (p != process) within.push_back(Within(PiecesOf(p), times));
  }
  for (const WorkPieces& pieces : within) processes.push_back(&pieces);
  return WorkIndex(std::move(processes)).In(times);
}

OthersWork RelativesWork::OfDescendants(trace::ProcessId process,
                                        const std::vector<trace::Interval>& times) const {
  const std::lock_guard lock(mutex_);
  return IndexOfDescendants(process.value).In(times);
}

std::map<Line, int64_t> RelativesWork::Ahead(trace::ProcessId process,
                                             const std::vector<Wait>& waits) const {
  const std::lock_guard lock(mutex_);
  const WorkIndex& all = IndexOfDescendants(process.value);
  struct Worker {
    WorkIndex index;
    std::map<Line, double> ahead;  // of the run that goes on, and no wait was shorter by it yet
  };
  std::vector<Worker> workers;
  for (const uint32_t p : DescendantsOf(process.value)) {
    if (!PiecesOf(p).empty()) workers.push_back({IndexOf({p}), {}});
  }
  std::map<Line, double> sums;
  trace::Interval last = {INT64_MIN, INT64_MIN};
  for (const auto& [time, since_ns] : waits) {
    std::map<Line, double> ahead;
    int64_t going_on = 0;
    for (Worker& worker : workers) {
      const int64_t run_ns = worker.index.busy().BeginOf(time.begin_ns);
      if (since_ns > last.end_ns || run_ns > last.begin_ns) worker.ahead.clear();
      if (run_ns >= time.begin_ns) continue;
      ++going_on;
      const trace::Interval since = {std::max(since_ns, run_ns), time.begin_ns};
      for (const auto& [line, blamed] : worker.index.In({since}).lines) {
        worker.ahead[line] += static_cast<double>(blamed.ns);
      }
      for (const auto& [line, ns] : worker.ahead) ahead[line] += ns;
    }
    last = time;
    if (going_on == 0) continue;
    const BlamedLines own = all.In({time}).lines;
    for (const auto& [line, ns] : ahead) {
      const auto at = own.find(line);
      const int64_t left_ns = time.end_ns - time.begin_ns - (at == own.end() ? 0 : at->second.ns);
      const double each = ns / static_cast<double>(going_on);
      const double taken = std::min(each, static_cast<double>(left_ns));
      sums[line] += taken;
      for (Worker& worker : workers) {
        const auto of_worker = worker.ahead.find(line);
        if (of_worker != worker.ahead.end() && each > 0) of_worker->second *= 1 - taken / each;
      }
    }
  }
  std::map<Line, int64_t> out;
  for (const auto& [line, ns] : sums) out[line] = std::llround(ns);
  return out;
}

std::vector<trace::Interval> RelativesWork::TimesFor(trace::ProcessId process) const {
  const std::lock_guard lock(mutex_);
  const std::vector<trace::Process>& processes = context_.trace().processes;
  const uint32_t parent = processes[process.value].parent.value;
  std::vector<trace::Interval> times;
  for (uint32_t p = 0; p < processes.size() && SharesClock(context_.trace()); ++p) {
    if (p == process.value || (p != parent && processes.size() > kMostStrangers)) continue;
    for (const WorkPiece& piece : PiecesOf(p)) times.push_back({piece.begin_ns, piece.end_ns});
  }
  return UnionOf(std::move(times));
}

OthersWork RelativesWork::In(trace::ProcessId process,
                             const std::vector<trace::Interval>& times) const {
  const std::lock_guard lock(mutex_);
  const std::vector<trace::Process>& processes = context_.trace().processes;
  OthersWork work = IndexOfDescendants(process.value).In(times);
  if (work.known_ns > 0) return work;
  const std::vector<uint32_t> descendants = DescendantsOf(process.value);
  const trace::ProcessId parent = processes[process.value].parent;
  const bool has_parent = parent.valid() && parent != process &&
                          !std::binary_search(descendants.begin(), descendants.end(), parent.value);
  if (has_parent) {
    if (parent.value != parent_ || of_parent_ == nullptr) {
      of_parent_ = std::make_unique<const WorkIndex>(IndexOf({parent.value}));
      parent_ = parent.value;
    }
    work = of_parent_->In(times);
  }
  if (work.known_ns > 0 || processes.size() > kMostStrangers) return work;
  return OfAllOthers(process.value, times);
}

}  // namespace crosscut::analyze
