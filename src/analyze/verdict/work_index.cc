#include "src/analyze/verdict/work_index.h"

#include <algorithm>
#include <cmath>

namespace crosscut::analyze {
namespace {

// The first piece at or behind `next` that ends behind `at_ns`. Near ones are found fast.
size_t Seek(const WorkPieces& pieces, size_t next, int64_t at_ns) {
  size_t step = 1;
  while (next + step <= pieces.size() && pieces[next + step - 1].end_ns <= at_ns) {
    next += step;
    step *= 2;
  }
  const auto begin = pieces.begin() + static_cast<ptrdiff_t>(next);
  const auto end = pieces.begin() + static_cast<ptrdiff_t>(std::min(next + step, pieces.size()));
  return static_cast<size_t>(
      std::partition_point(begin, end, [&](const WorkPiece& p) { return p.end_ns <= at_ns; }) -
      pieces.begin());
}

// Whole numbers that add up to the rounded sum.
class Rounded {
 public:
  int64_t Next(double ns) {
    sum_ += ns;
    const int64_t before = given_;
    given_ = std::llround(sum_);
    return given_ - before;
  }

 private:
  double sum_ = 0;
  int64_t given_ = 0;
};

}  // namespace

void BusyTimes::Add(const trace::Interval& time) {
  if (!times_.empty() && times_.back().end_ns == time.begin_ns) {
    times_.back().end_ns = time.end_ns;
    return;
  }
  before_.push_back(times_.empty() ? 0 : Before(times_.back().end_ns));
  times_.push_back(time);
}

size_t BusyTimes::CountBefore(int64_t at_ns) const {
  const auto behind =
      std::partition_point(times_.begin(), times_.end(),
                           [&](const trace::Interval& time) { return time.begin_ns < at_ns; });
  return static_cast<size_t>(behind - times_.begin());
}

int64_t BusyTimes::BeginOf(int64_t at_ns) const {
  const size_t count = CountBefore(at_ns);
  return count == 0 || times_[count - 1].end_ns < at_ns ? at_ns : times_[count - 1].begin_ns;
}

int64_t BusyTimes::Before(int64_t at_ns) const {
  const size_t count = CountBefore(at_ns);
  if (count == 0) return 0;
  const size_t last = count - 1;
  return before_[last] + std::min(at_ns, times_[last].end_ns) - times_[last].begin_ns;
}

WorkIndex::WorkIndex(std::vector<const WorkPieces*> processes) : processes_(std::move(processes)) {
  SetPaces();
  for (const WorkPieces* pieces : processes_) {
    for (const WorkPiece& piece : *pieces) {
      const double passed = PassedAt(piece.end_ns) - PassedAt(piece.begin_ns);
      entries_.push_back({&piece, passed / piece.threads});
    }
  }
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.piece->begin_ns < b.piece->begin_ns;
  });
  auto busy = std::make_shared<BusyTimes>();
  int64_t until_ns = INT64_MIN;
  for (const auto& [piece, ns] : entries_) {
    if (piece->end_ns <= until_ns || !MayBeBlamed(piece->line)) continue;
    busy->Add({std::max(piece->begin_ns, until_ns), piece->end_ns});
    until_ns = piece->end_ns;
  }
  busy_ = std::move(busy);
  for (size_t leaves = entries_.size() / kLeaf, level = 0; leaves > 0; leaves /= 2, ++level) {
    std::vector<Flat> of_level;
    for (size_t i = 0; i < leaves; ++i) {
      Sums sums;
      AddRange((i * kLeaf) << level, ((i + 1) * kLeaf) << level, &sums);  // by the level below
      of_level.push_back(
          {{sums.lines.begin(), sums.lines.end()}, {sums.names.begin(), sums.names.end()}});
    }
    levels_.push_back(std::move(of_level));
  }
}

void WorkIndex::SetPaces() {
  trace::Column<std::pair<int64_t, int>> changes;  // of how many processes work
  for (const WorkPieces* pieces : processes_) {
    for (size_t i = 0; i < pieces->size(); ++i) {
      const WorkPiece& piece = (*pieces)[i];
      if (i > 0 && piece.begin_ns <= (*pieces)[i - 1].end_ns) {
        changes.back().first = piece.end_ns;  // it goes on
        continue;
      }
      changes.emplace_back(piece.begin_ns, 1);
      changes.emplace_back(piece.end_ns, -1);
    }
  }
  std::sort(changes.begin(), changes.end());
  int work = 0;
  for (const auto& [at_ns, by] : changes) {
    const double passed = PassedAt(at_ns);
    work += by;
    if (!paces_.empty() && paces_.back().at_ns == at_ns) paces_.pop_back();
    paces_.push_back({at_ns, passed, work > 0 ? 1.0 / work : 0});
  }
}

double WorkIndex::PassedAt(int64_t at_ns) const {
  const auto behind = std::partition_point(paces_.begin(), paces_.end(),
                                           [&](const Pace& pace) { return pace.at_ns <= at_ns; });
  if (behind == paces_.begin()) return 0;
  const Pace& pace = *(behind - 1);
  return pace.passed + pace.rate * static_cast<double>(at_ns - pace.at_ns);
}

// Of what a thread did alone in the time, the sample tells as much as of the part.
WorkIndex::Amount WorkIndex::Behind(const WorkPiece& piece, double ns, int64_t from_ns) const {
  const bool has =
      std::max(from_ns, piece.begin_ns) <= piece.sample_ns && piece.sample_ns < piece.end_ns;
  const double part = ns * piece.threads / static_cast<double>(piece.end_ns - piece.begin_ns);
  const double behind =
      from_ns <= piece.begin_ns ? ns : (PassedAt(piece.end_ns) - PassedAt(from_ns)) / piece.threads;
  return {behind, has ? part * part * piece.variance : 0, has ? 1 : 0};
}

void WorkIndex::Add(const WorkPiece& piece, const Amount& amount, int sign, Sums* out) {
  if (piece.name.valid()) out->names[piece.name.value] += sign * amount.ns;
  out->lines[piece.line].Add(amount, sign);
}

void WorkIndex::AddRange(size_t first, size_t last, Sums* out) const {
  while (first < last) {
    size_t size = 1;
    const Flat* flat = nullptr;
    for (size_t level = 0; level < levels_.size(); ++level) {
      const size_t of_level = kLeaf << level;
      if (first % of_level != 0 || last - first < of_level) break;
      size = of_level;
      flat = &levels_[level][first / of_level];
    }
    if (flat != nullptr) {
      for (const auto& [line, amount] : flat->lines) out->lines[line].Add(amount);
      for (const auto& [name, ns] : flat->names) out->names[name] += ns;
    } else {
      const auto& [piece, ns] = entries_[first];
      Add(*piece, Behind(*piece, ns, piece->begin_ns), 1, out);
    }
    first += size;
  }
}

void WorkIndex::AddTails(int64_t at_ns, int sign, std::vector<size_t>* next, Sums* out) const {
  for (size_t p = 0; p < processes_.size(); ++p) {
    const WorkPieces& pieces = *processes_[p];
    size_t i = (*next)[p] = Seek(pieces, (*next)[p], at_ns);
    for (; i < pieces.size() && pieces[i].begin_ns < at_ns; ++i) {
      const WorkPiece& piece = pieces[i];
      const double ns = (PassedAt(piece.end_ns) - PassedAt(piece.begin_ns)) / piece.threads;
      Add(piece, Behind(piece, ns, at_ns), sign, out);
    }
  }
}

// What begins in a time, with what goes on at its begin, without what goes on at its end.
OthersWork WorkIndex::In(const std::vector<trace::Interval>& times) const {
  Sums sums;
  std::vector<size_t> next(processes_.size());
  for (const trace::Interval& time : times) {
    const auto from = [&](int64_t at_ns) {
      return static_cast<size_t>(
          std::partition_point(entries_.begin(), entries_.end(),
                               [&](const Entry& e) { return e.piece->begin_ns < at_ns; }) -
          entries_.begin());
    };
    AddTails(time.begin_ns, 1, &next, &sums);
    AddRange(from(time.begin_ns), from(time.end_ns), &sums);
    AddTails(time.end_ns, -1, &next, &sums);
  }
  OthersWork out;
  out.busy = busy_;
  Rounded of_lines, of_names;
  double known = 0;
  for (const auto& [line, amount] : sums.lines) {
    out.lines[line] = {of_lines.Next(amount.ns), amount.samples, std::max(0.0, amount.variance)};
    if (IsSampled(line.kind)) known += amount.ns;
  }
  for (const auto& [name, ns] : sums.names) out.names[name] = of_names.Next(ns);
  out.known_ns = std::llround(known);
  return out;
}

}  // namespace crosscut::analyze
