#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/analyze/columns.h"
#include "src/analyze/quantiles.h"
#include "src/analyze/time/tables.h"
#include "src/trace/namesakes.h"

namespace crosscut::analyze {
namespace {

struct Function {
  trace::StringId text;
  trace::Layer layer;
  size_t first = 0;  // of its lengths
  int64_t count = 0, total_ns = 0, self_ns = 0;
};

// Where the lengths stand of spans that later parts go on with.
class PartPlaces {
 public:
  explicit PartPlaces(const trace::Spans& spans) : places_(spans.continued.size()) {
    for (size_t i = 0; i < places_.size(); ++i) parts_.emplace_back(spans.parts_before[i], i);
    std::sort(parts_.begin(), parts_.end());
  }
  // Requires: called for each span, in their order.
  void Note(trace::SpanIndex span, size_t place) {
    for (; next_ < parts_.size() && parts_[next_].first == span; ++next_) {
      places_[parts_[next_].second] = place;
    }
  }
  size_t OfNextContinued() { return places_[next_continued_++]; }

 private:
  std::vector<std::pair<trace::SpanIndex, size_t>> parts_;  // and which continued span it is before
  std::vector<size_t> places_;                              // by continued span
  size_t next_ = 0, next_continued_ = 0;
};

class Functions {
 public:
  explicit Functions(const trace::Trace& trace) : trace_(trace) {
    std::unordered_map<uint64_t, uint32_t> index;
    for (const trace::Name& name : trace.names) {
      const uint64_t key = uint64_t{name.text.value} << 8 | static_cast<uint64_t>(name.layer);
      const auto [at, fresh] = index.emplace(key, static_cast<uint32_t>(functions_.size()));
      if (fresh) functions_.push_back({name.text, name.layer});
      function_.push_back(name.kind == trace::Kind::kSpan ? at->second : kNotOne);
    }
    Count();
    size_t first = 0;
    for (Function& f : functions_) {
      f.first = first;
      first += static_cast<size_t>(f.count);
    }
    lengths_.resize(first);
    for (const trace::Track& track : trace.tracks) Measure(track.spans);
  }

  const std::vector<Function>& all() const { return functions_; }
  std::string_view LayerText(const Function& f) const { return trace::LayerName(f.layer); }
  std::string_view NameText(const Function& f) const { return trace_.text(f.text); }
  // Of the lengths, which it reorders.
  int64_t Percentile(const Function& f, size_t percent) {
    const auto begin = lengths_.begin() + static_cast<ptrdiff_t>(f.first);
    const auto rank = static_cast<ptrdiff_t>(RankOf(static_cast<size_t>(f.count), percent));
    std::nth_element(begin, begin + rank, begin + f.count);
    return begin[rank];
  }
  std::span<const int64_t> Lengths(const Function& f) const {
    return {lengths_.data() + f.first, static_cast<size_t>(f.count)};
  }
  std::pair<int64_t, int64_t> Extremes(const Function& f) const {
    const auto begin = lengths_.begin() + static_cast<ptrdiff_t>(f.first);
    const auto [low, high] = std::minmax_element(begin, begin + f.count);
    return {*low, *high};
  }

 private:
  static constexpr uint32_t kNotOne = trace::Namesakes::kNoKey;

  void Count() {
    std::vector<int64_t> counts(function_.size());  // by NameId
    for (const trace::Track& track : trace_.tracks) {
      const trace::Spans& spans = track.spans;
      for (const trace::NameId name : spans.name) ++counts[name.value];
      for (const trace::SpanIndex i : spans.continued) --counts[spans.name[i].value];
    }
    for (size_t n = 0; n < counts.size(); ++n) {
      if (counts[n] > 0 && function_[n] != kNotOne) functions_[function_[n]].count += counts[n];
    }
  }

  void Measure(const trace::Spans& spans) {
    if (filled_.empty()) filled_.resize(functions_.size());
    trace::Continuations continued(spans);
    open_.Begin(spans);
    PartPlaces places(spans);
    for (trace::SpanIndex i = 0; i < spans.size(); ++i) {
      const int64_t length = spans.end_ns[i] - spans.begin_ns[i];
      const bool goes_on = continued.Has(i);
      const size_t before = goes_on ? places.OfNextContinued() : 0;
      const uint32_t f = function_[spans.name[i].value];
      const bool outermost = open_.Enter(i, f) == trace::kNoSpan;
      size_t place = before;
      if (f != kNotOne) {
        if (outermost) functions_[f].total_ns += length;
        functions_[f].self_ns += length;
        if (!goes_on) place = functions_[f].first + filled_[f]++;
        lengths_[place] += length;
      }
      places.Note(i, place);
      // An operation around a span is no function: its spans count against the function around it.
      const trace::SpanIndex around = open_.KeyedAround();
      if (f == kNotOne || around == trace::kNoSpan) continue;
      functions_[function_[spans.name[around].value]].self_ns -= length;
    }
  }

  const trace::Trace& trace_;
  std::vector<Function> functions_;
  std::vector<uint32_t> function_;  // by NameId
  trace::Namesakes open_;           // by function
  std::vector<size_t> filled_;
  trace::Column<int64_t> lengths_;  // of all spans, by function
};

// Ranges of lengths, in a row: 128 per power of two.
constexpr int kRangeBits = 7;
int ShiftOf(uint64_t length) {
  return std::max(0, static_cast<int>(std::bit_width(length)) - kRangeBits - 1);
}
size_t RangeOf(int64_t length) {
  const auto value = static_cast<uint64_t>(std::max(int64_t{0}, length));
  const int shift = ShiftOf(value);
  return (static_cast<size_t>(shift) << kRangeBits) + (value >> shift);
}
constexpr size_t kRanges = size_t{64 - kRangeBits} << kRangeBits;

// The first length of a range. That of the range behind the last one is the most there is.
int64_t FirstOf(size_t range) {
  const size_t step = range >> kRangeBits;
  if (step <= 1) return static_cast<int64_t>(range);
  const size_t place = range - ((step - 1) << kRangeBits);
  const auto first = static_cast<uint64_t>(place) << (step - 1);
  return static_cast<int64_t>(std::min<uint64_t>(first, INT64_MAX));
}

Table LengthsTable(const Functions& functions) {
  TableRows table("function_lengths", Text("layer"), Text("name"), Integer("from_ns"),
                  Integer("below_ns"), Integer("count"));
  std::vector<int64_t> counts(kRanges);
  for (const Function& f : functions.all()) {
    size_t least = kRanges, most = 0;
    for (const int64_t length : functions.Lengths(f)) {
      const size_t range = RangeOf(length);
      ++counts[range];
      least = std::min(least, range);
      most = std::max(most, range);
    }
    for (size_t range = least; range <= most && least < kRanges; ++range) {
      if (counts[range] == 0) continue;
      table.Add(functions.LayerText(f), functions.NameText(f), FirstOf(range), FirstOf(range + 1),
                std::exchange(counts[range], 0));
    }
  }
  return table.Make();
}

// Reorders the lengths of each function.
Table SumsTable(Functions* functions) {
  std::vector<Function> all;
  for (const Function& f : functions->all()) {
    if (f.count > 0) all.push_back(f);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Function& a, const Function& b) { return a.self_ns > b.self_ns; });
  TableRows table("functions", Text("layer"), Text("name"), Integer("count"), Integer("total_ns"),
                  Integer("self_ns"), Integer("min_ns"), Integer("p50_ns"), Integer("p99_ns"),
                  Integer("max_ns"));
  for (const Function& f : all) {
    const auto [low, high] = functions->Extremes(f);
    table.Add(functions->LayerText(f), functions->NameText(f), f.count, f.total_ns, f.self_ns, low,
              functions->Percentile(f, 50), functions->Percentile(f, 99), high);
  }
  return table.Make();
}

// Both tables come from the lengths of all spans, which are too many to be kept.
struct FunctionTables {
  explicit FunctionTables(const Context& context) {
    Functions functions(context.trace());
    lengths = LengthsTable(functions);
    sums = SumsTable(&functions);
  }
  Table sums, lengths;
};

}  // namespace

Table FunctionLengthsTable(const trace::Trace&, const Context& context) {
  return context.Shared<FunctionTables>().lengths;
}

Table FunctionsTable(const trace::Trace&, const Context& context) {
  return context.Shared<FunctionTables>().sums;
}

}  // namespace crosscut::analyze
