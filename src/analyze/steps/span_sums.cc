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

class Summing {
 public:
  Summing(const trace::Trace& trace, const trace::Process& process,
          const std::vector<uint32_t>& block_of_step, SpanSums& out)
      : process_(process), block_of_step_(block_of_step), out_(out) {
    std::unordered_map<uint64_t, uint32_t> index;
    for (const trace::Name& name : trace.names) {
      const uint64_t key = uint64_t{name.text.value} << 8 | static_cast<uint64_t>(name.layer);
      const auto next = static_cast<uint32_t>(out.names.size());
      const bool one = name.kind == trace::Kind::kSpan;
      const uint32_t number = one ? index.emplace(key, next).first->second : kNowhere;
      if (one && number == next) out.names.push_back({name.text, name.layer, name.probe, {}});
      number_.push_back(number);
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
    trace::Namesakes open(spans);
    for (trace::SpanIndex i = 0; i < spans.size(); ++i) {
      const bool goes_on = continued.Has(i);
      while (next < order_.size() && Step(next).begin_ns <= spans.begin_ns[i]) {
        Enter(order_[next++]);
      }
      const uint32_t f = number_[spans.name[i].value];
      const trace::SpanIndex around = open.Enter(i, f);
      if (f == kNowhere || next == 0) continue;
      const bool inside = spans.begin_ns[i] < Step(next - 1).end_ns;
      if (!inside || block_ == kNowhere) continue;
      Count(spans, i, open.KeyedAround(), f, goes_on);
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
    At(number_[spans.name[around].value]).self_ns -= ns;
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
  std::vector<uint32_t> number_;  // by NameId
  std::vector<uint32_t> order_;   // steps by begin
  std::vector<Now> now_;          // of the current block
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
  Summing summing(trace, process, block_of_step, out);
  for (const std::vector<uint32_t>* some : {&tracks.host, &tracks.async, &tracks.device}) {
    for (const uint32_t track : *some) summing.Add(trace.tracks[track].spans);
  }
  for (SpanName& name : out.names) Merge(name.sums);
  return out;
}

}  // namespace crosscut::analyze
