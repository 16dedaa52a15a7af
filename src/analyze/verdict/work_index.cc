#include "src/analyze/verdict/work_index.h"

#include <algorithm>

namespace crosscut::analyze {

void BusyTimes::Add(const trace::Interval& time) {
  if (!times_.empty() && times_.back().end_ns == time.begin_ns) {
    times_.back().end_ns = time.end_ns;
    return;
  }
  before_.push_back(times_.empty() ? 0 : Before(times_.back().end_ns));
  times_.push_back(time);
}

int64_t BusyTimes::Before(int64_t at_ns) const {
  const auto after =
      std::partition_point(times_.begin(), times_.end(),
                           [&](const trace::Interval& time) { return time.begin_ns < at_ns; });
  if (after == times_.begin()) return 0;
  const auto last = static_cast<size_t>(after - times_.begin()) - 1;
  return before_[last] + std::min(at_ns, times_[last].end_ns) - times_[last].begin_ns;
}

Blamed WorkIndex::Piece::Within(int64_t begin, int64_t end) const {
  begin = std::max(begin, begin_ns);
  end = std::min(end, end_ns);
  const int64_t ns = end - begin, equal = ns / threads;
  const bool has = begin <= sample_ns && sample_ns < end;
  return {equal + (number >= threads - ns % threads ? 1 : 0), has ? 1 : 0, has ? variance : 0};
}

WorkIndex::WorkIndex(trace::Column<Piece> pieces) : pieces_(std::move(pieces)) {
  auto busy = std::make_shared<BusyTimes>();
  int64_t added_ns = INT64_MIN;  // of pieces of equal times one
  for (const Piece& piece : pieces_) {
    if (piece.begin_ns == added_ns || !MayBeBlamed(piece.line)) continue;
    busy->Add({piece.begin_ns, piece.end_ns});
    added_ns = piece.begin_ns;
  }
  busy_ = std::move(busy);
  for (size_t leaves = pieces_.size() / kLeaf, level = 0; leaves > 0; leaves /= 2, ++level) {
    std::vector<Sums> sums;
    for (size_t i = 0; i < leaves; ++i) {
      OthersWork work;
      AddRange((i * kLeaf) << level, ((i + 1) * kLeaf) << level, &work);  // by the level below
      sums.push_back(SumsOf(work));
    }
    levels_.push_back(std::move(sums));
  }
}

void WorkIndex::Add(const Piece& piece, const Blamed& blamed, OthersWork* out) {
  if (piece.name.valid()) out->names[piece.name.value] += blamed.ns;
  out->lines[piece.line].Add(blamed);
  out->known_ns += blamed.ns;
}

void WorkIndex::Add(const Sums& sums, OthersWork* out) {
  for (const auto& [name, ns] : sums.names) out->names[name] += ns;
  for (const auto& [line, blamed] : sums.lines) {
    out->lines[line].Add(blamed);
    out->known_ns += blamed.ns;
  }
}

WorkIndex::Sums WorkIndex::SumsOf(const OthersWork& work) {
  return {{work.lines.begin(), work.lines.end()}, {work.names.begin(), work.names.end()}};
}

void WorkIndex::AddRange(size_t first, size_t last, OthersWork* out) const {
  while (first < last) {
    size_t size = 1;
    const Sums* sums = nullptr;
    for (size_t level = 0; level < levels_.size(); ++level) {
      const size_t of_level = kLeaf << level;
      if (first % of_level != 0 || last - first < of_level) break;
      size = of_level;
      sums = &levels_[level][first / of_level];
    }
    if (sums != nullptr) {
      Add(*sums, out);
    } else {
      Add(pieces_[first], pieces_[first].Within(INT64_MIN, INT64_MAX), out);
    }
    first += size;
  }
}

OthersWork WorkIndex::In(const std::vector<trace::Interval>& times) const {
  OthersWork out;
  out.busy = busy_;
  for (const trace::Interval& time : times) {
    const auto at = [&](auto before) {
      return std::partition_point(pieces_.begin(), pieces_.end(), before) - pieces_.begin();
    };
    auto first = static_cast<size_t>(at([&](const Piece& p) { return p.end_ns <= time.begin_ns; }));
    auto last = static_cast<size_t>(at([&](const Piece& p) { return p.begin_ns < time.end_ns; }));
    const auto cut = [&](const Piece& p) {
      return p.begin_ns < time.begin_ns || p.end_ns > time.end_ns;
    };
    const auto add = [&](const Piece& p) { Add(p, p.Within(time.begin_ns, time.end_ns), &out); };
    for (; first < last && cut(pieces_[first]); ++first) add(pieces_[first]);
    for (; first < last && cut(pieces_[last - 1]); --last) add(pieces_[last - 1]);
    AddRange(first, last, &out);
  }
  return out;
}

}  // namespace crosscut::analyze
