#include "src/analyze/steps/span_sums.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "src/trace/namesakes.h"

namespace crosscut::analyze {
namespace {

constexpr uint32_t kNowhere = trace::Namesakes::kNoKey;
constexpr uint64_t kBlockSteps = 6;
constexpr uint64_t kMaxBlocks = 2000;

// Numbers each step's block, or kNowhere: runs of steps at one level, cut to kBlockSteps, and as
// many of them together as keep the number of blocks in bounds.
std::vector<uint32_t> NumberBlocks(const std::vector<StepSample>& samples,
                                   const StepClasses& classes, std::vector<StepCellBlock>& blocks) {
  std::map<std::pair<uint32_t, uint8_t>, uint64_t> runs;  // by class and level
  std::vector<uint64_t> run(samples.size());
  uint64_t length = 0;
  std::map<std::pair<uint32_t, uint8_t>, uint64_t> last_global;
  uint64_t global = 0;
  for (size_t i = 0; i < samples.size(); ++i, ++length) {
    const bool same = i > 0 && samples[i].level == samples[i - 1].level;
    if (!same || length >= kBlockSteps) ++global, length = 0;
    if (!samples[i].counts || classes.of_step[i] == StepClasses::kNone) continue;
    const auto key = std::make_pair(classes.of_step[i], samples[i].level);
    uint64_t& last = last_global[key];
    if (last != global) ++runs[key];
    last = global;
    run[i] = runs[key] - 1;
  }
  std::map<std::tuple<uint32_t, uint8_t, uint64_t>, uint32_t> numbers;
  std::vector<uint32_t> of_step(samples.size(), kNowhere);
  for (size_t i = 0; i < samples.size(); ++i) {
    const uint32_t c = classes.of_step[i];
    if (!samples[i].counts || c == StepClasses::kNone) continue;
    const uint64_t together = (runs[{c, samples[i].level}] + kMaxBlocks - 1) / kMaxBlocks;
    const auto key = std::make_tuple(c, samples[i].level, run[i] / together);
    const auto [at, fresh] = numbers.emplace(key, static_cast<uint32_t>(blocks.size()));
    if (fresh) blocks.push_back({c, samples[i].level});
    of_step[i] = at->second;
    ++blocks[at->second].steps;
  }
  return of_step;
}

// The names of the spans of some tracks, each with a number. Costs as much as the spans, however
// many names others have.
class Numbers {
 public:
  Numbers(const trace::Trace& trace, const std::vector<const trace::Spans*>& tracks) {
    size_t all = 0;
    for (const trace::Spans* spans : tracks) all += spans->size();
    if (all >= trace.names.size()) dense_.assign(trace.names.size(), kUnused);
    for (const trace::Spans* spans : tracks) {
      for (const trace::NameId name : spans->name) At(name) = kNowhere;
    }
    for (uint32_t name = 0; name < dense_.size(); ++name) {
      if (dense_[name] != kUnused) used_.push_back(name);
    }
    for (const auto& [name, number] : sparse_) used_.push_back(name);
    if (dense_.empty()) std::sort(used_.begin(), used_.end());
  }
  // In their order.
  const std::vector<uint32_t>& used() const { return used_; }
  uint32_t& At(trace::NameId name) {
    return dense_.empty() ? sparse_[name.value] : dense_[name.value];
  }

 private:
  static constexpr uint32_t kUnused = kNowhere - 1;
  std::vector<uint32_t> used_, dense_;
  std::unordered_map<uint32_t, uint32_t> sparse_;
};

class Summing {
 public:
  Summing(const trace::Trace& trace, const trace::Process& process,
          const std::vector<const trace::Spans*>& tracks,
          const std::vector<uint32_t>& block_of_step, SpanSums& out)
      : process_(process), block_of_step_(block_of_step), out_(out), number_(trace, tracks) {
    std::unordered_map<uint64_t, uint32_t> index;
    for (const uint32_t id : number_.used()) {
      const trace::Name& name = trace.names[id];
      if (name.kind != trace::Kind::kSpan) continue;
      const uint64_t key = uint64_t{name.text.value} << 8 | static_cast<uint64_t>(name.layer);
      const auto next = static_cast<uint32_t>(out.names.size());
      const uint32_t number = index.emplace(key, next).first->second;
      if (number == next) out.names.push_back({name.text, name.layer, name.probe, {}});
      number_.At({id}) = number;
    }
    now_.resize(out.names.size());
    order_.resize(process.steps.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      return process.steps[a].begin_ns < process.steps[b].begin_ns;
    });
  }

  void Add(const trace::Spans& spans) {
    size_t next = 0;
    trace::Continuations continued(spans);
    open_.Begin(spans);
    for (trace::SpanIndex i = 0; i < spans.size(); ++i) {
      const bool goes_on = continued.Has(i);
      if (next < order_.size() && Step(next).begin_ns <= spans.begin_ns[i]) {
        next = BehindThoseBegun(next, spans.begin_ns[i]);
        Enter(order_[next - 1]);
      }
      const uint32_t f = number_.At(spans.name[i]);
      const trace::SpanIndex around = open_.Enter(i, f);
      if (f == kNowhere || next == 0) continue;
      const bool inside = spans.begin_ns[i] < Step(next - 1).end_ns;
      if (!inside || block_ == kNowhere) continue;
      Count(spans, i, open_.KeyedAround(), f, goes_on);
      // One that a namesake from before the step holds is this step's all the same.
      const bool outermost = around == trace::kNoSpan || spans.begin_ns[around] < step_begin_;
      if (outermost) At(f).ns += spans.end_ns[i] - spans.begin_ns[i];
    }
    Flush();
    block_ = kNowhere;
  }

 private:
  struct Now {
    int64_t count = 0, ns = 0, self_ns = 0;
    bool touched = false;
  };

  const trace::Step& Step(size_t place) const { return process_.steps[order_[place]]; }
  // The place of the first step behind `from` that begins later. Many threads have spans in few of
  // the steps.
  size_t BehindThoseBegun(size_t from, int64_t at_ns) const {
    size_t to = from + 1;
    for (size_t far = 1; to < order_.size() && Step(to).begin_ns <= at_ns; far *= 2) {
      from = to;
      to = std::min(order_.size(), to + far);
    }
    const auto first = order_.begin() + static_cast<ptrdiff_t>(from);
    const auto last = order_.begin() + static_cast<ptrdiff_t>(to);
    const auto behind = std::partition_point(
        first, last, [&](uint32_t step) { return process_.steps[step].begin_ns <= at_ns; });
    return static_cast<size_t>(behind - order_.begin());
  }

  void Enter(uint32_t step) {
    step_begin_ = process_.steps[step].begin_ns;
    if (block_of_step_[step] == block_) return;
    Flush();
    block_ = block_of_step_[step];
  }

  Now& At(uint32_t f) {
    if (!now_[f].touched) touched_.push_back(f);
    now_[f].touched = true;
    return now_[f];
  }

  // `around`: the innermost function that it is in.
  void Count(const trace::Spans& spans, size_t i, trace::SpanIndex around, uint32_t f,
             bool goes_on) {
    const int64_t ns = spans.end_ns[i] - spans.begin_ns[i];
    Now& now = At(f);
    now.count += !goes_on;
    now.self_ns += ns;
    // A function around it that began before the step is another step's.
    if (around == trace::kNoSpan || spans.begin_ns[around] < step_begin_) return;
    At(number_.At(spans.name[around])).self_ns -= ns;
  }

  void Flush() {
    for (const uint32_t f : touched_) {
      const Now& now = now_[f];
      out_.names[f].sums.push_back({block_, now.count, now.self_ns, now.ns});
      now_[f] = {};
    }
    touched_.clear();
  }

  const trace::Process& process_;
  const std::vector<uint32_t>& block_of_step_;
  SpanSums& out_;
  Numbers number_;
  trace::Namesakes open_;        // by number
  std::vector<uint32_t> order_;  // steps by begin
  std::vector<Now> now_;         // of the current block
  std::vector<uint32_t> touched_;
  uint32_t block_ = kNowhere;
  int64_t step_begin_ = 0;
};

// Blocks that several tracks or stretches wrote, in one sum each.
void Merge(std::vector<SpanSum>& sums) {
  std::stable_sort(sums.begin(), sums.end(),
                   [](const SpanSum& a, const SpanSum& b) { return a.block < b.block; });
  size_t n = 0;
  for (const SpanSum& s : sums) {
    if (n > 0 && sums[n - 1].block == s.block) {
      sums[n - 1].count += s.count;
      sums[n - 1].ns += s.ns;
      sums[n - 1].self_ns += s.self_ns;
    } else {
      sums[n++] = s;
    }
  }
  sums.resize(n);
}

}  // namespace

SpanSums SumSpans(const trace::Trace& trace, const ProcessTracks& tracks,
                  const trace::Process& process, const std::vector<StepSample>& samples,
                  const StepClasses& classes) {
  SpanSums out;
  const std::vector<uint32_t> block_of_step = NumberBlocks(samples, classes, out.blocks);
  std::vector<const trace::Spans*> all;
  for (const std::vector<uint32_t>* some : {&tracks.host, &tracks.async, &tracks.device}) {
    for (const uint32_t track : *some) all.push_back(&trace.tracks[track].spans);
  }
  Summing summing(trace, process, all, block_of_step, out);
  for (const trace::Spans* spans : all) summing.Add(*spans);
  for (SpanName& name : out.names) Merge(name.sums);
  return out;
}

}  // namespace crosscut::analyze
