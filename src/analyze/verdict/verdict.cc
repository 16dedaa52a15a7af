#include "src/analyze/verdict/verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/accounting/overhead.h"
#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/figures.h"
#include "src/analyze/verdict/causes.h"
#include "src/analyze/verdict/rules.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kMostRows = 3;      // of a process
constexpr size_t kFewestSteps = 10;  // for an interval
constexpr double kFreedomOfBlock =
    1.2;  // blocks that overlap tell more than those beside each other
// Below, a line is known to a third of its time at best, and another may well take as much.
constexpr int64_t kFewSamples = 10;

constexpr char kWherePythonAloneIsSampled[] =
    "do this work once, in native code, or outside the loop. Native code that nothing wraps counts "
    "as Python here: --python=samples tells them apart";

struct Row {
  uint32_t process;
  int64_t rank;
  const char* cause;
  std::string headline;
  double share, gain, low, high;
  std::string blame, evidence;
  const char *table, *action;
};

std::string Fill(std::string_view text, double share, const char* of, const std::string& who = "") {
  const std::pair<std::string_view, std::string> values[] = {
      {"{share}", ShareText(share)}, {"{of}", of}, {"{who}", who}};
  std::string out;
  while (!text.empty()) {
    size_t taken = 1;
    const auto* value = std::find_if(std::begin(values), std::end(values),
                                     [&](const auto& one) { return text.starts_with(one.first); });
    if (value == std::end(values)) {
      out += text[0];
    } else {
      out += value->second;  // which may hold anything
      taken = value->first.size();
    }
    text.remove_prefix(taken);
  }
  out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

// 95 % bounds of the share of `cause`. Neighbours are alike, so what tells is how the sums of
// blocks of consecutive steps differ: of all blocks, those over the end included, which go on at
// the begin. The number of a block's steps is the square root of all, the usual compromise. Few
// blocks spread less than many: by the steps that a block has of all, and as Student's factor says.
std::pair<double, double> BoundsOf(const ProcessCauses& causes, size_t cause) {
  const size_t n = causes.steps.size();
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> parts, wholes;
  for (const auto& step : causes.steps) {
    parts.push_back(static_cast<double>(step[cause]));
    wholes.push_back(std::accumulate(step.begin(), step.end(), 0.0));
  }
  const double whole = std::accumulate(wholes.begin(), wholes.end(), 0.0);
  if (n < kFewestSteps || whole <= 0) return {kUnknown, kUnknown};
  const double share = std::accumulate(parts.begin(), parts.end(), 0.0) / whole;
  const auto length = static_cast<size_t>(std::sqrt(static_cast<double>(n)));
  const auto beyond = [&](size_t i) { return parts[i % n] - share * wholes[i % n]; };
  double block = 0, squares = 0;
  for (size_t i = 0; i < length; ++i) block += beyond(i);
  for (size_t i = 0; i < n; ++i) {
    squares += block * block;
    block += beyond(i + length) - beyond(i);
  }
  const double blocks = static_cast<double>(n) / static_cast<double>(length);
  const double error = std::sqrt(squares / static_cast<double>(length) * blocks / (blocks - 1));
  const double reach = StudentFactor(kFreedomOfBlock * blocks - 1) * error / whole;
  return {std::max(0.0, share - reach), std::min(1.0, share + reach)};
}

// Whether more than a few steps have it, as far as that is known: it is worth saying without those
// in which it takes most, half as many as the square root of all. A first step that compiles may
// take half of a short run, and says nothing of the others.
bool Lasts(const ProcessCauses& causes, Cause cause) {
  const size_t n = causes.steps.size();
  if (cause == Cause::kPreemption || n < kFewestSteps) return true;  // it is not told by step
  std::vector<std::pair<int64_t, int64_t>> steps;                    // of the cause, of all
  for (const auto& step : causes.steps) {
    steps.emplace_back(step[static_cast<size_t>(cause)],
                       std::accumulate(step.begin(), step.end(), int64_t{0}));
  }
  std::sort(steps.begin(), steps.end());
  steps.resize(n - static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(n)) / 2)));
  int64_t part = 0, whole = 0;
  for (const auto& [of_it, all] : steps) part += of_it, whole += all;
  return Share(part, whole) >= kWorthSaying;
}

class Verdicts {
 public:
  explicit Verdicts(const Context& context)
      : trace_(context.trace()), context_(context), causes_(context.Shared<Causes>()) {}
  std::vector<Row> Make();

 private:
  // The causes of a process that are told, the first first.
  std::vector<Cause> Chosen(const ProcessCauses& causes) const;
  Row RowOf(uint32_t process, Cause cause, int64_t rank) const;
  Row NothingStandsOut(uint32_t process) const;
  struct Place {
    std::string blame, words;
    double share;  // of the cause
  };
  Place PlaceOf(uint32_t process, Cause cause) const;
  // The process for which this one waits longest in collectives; "": it does not.
  std::string LateRank(const ProcessCauses& causes) const;
  BlamedLines LinesOf(uint32_t process, Cause cause) const;
  // The name that has most of a cause's time; "": none has any.
  struct Top {
    std::string name;
    double part = 0;  // of the cause
  };
  Top TopName(uint32_t process, const CauseSum& sum, Cause cause) const;

  const trace::Trace& trace_;
  const Context& context_;
  const Causes& causes_;
};

std::vector<Cause> Verdicts::Chosen(const ProcessCauses& causes) const {
  const auto share = [&](const VerdictRule& rule) {
    return Share(causes.causes[static_cast<size_t>(rule.cause)].ns, causes.total_ns);
  };
  std::vector<const VerdictRule*> order;
  for (const VerdictRule& rule : VerdictRules()) {
    if (rule.first_from < 1 && share(rule) >= kWorthSaying) order.push_back(&rule);
  }
  double purpose = 0;  // the largest
  for (const auto* rule : order) purpose = std::max(purpose, rule->purpose ? share(*rule) : 0);
  const auto is_burden = [&](const VerdictRule& rule) {
    return !rule.purpose && share(rule) >= std::max(rule.first_from, kBurdenToPurpose * purpose);
  };
  std::set<Cause> lasting;
  for (const auto* rule : order) {
    if (Lasts(causes, rule->cause)) lasting.insert(rule->cause);
  }
  // A burden that may stand first goes before the program's purpose; then the largest.
  std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
    const bool a_lasts = lasting.contains(a->cause), b_lasts = lasting.contains(b->cause);
    if (a_lasts != b_lasts) return a_lasts;
    return is_burden(*a) != is_burden(*b) ? is_burden(*a) : share(*a) > share(*b);
  });
  if (order.empty() || !lasting.contains(order[0]->cause)) return {};
  if (share(*order[0]) < order[0]->first_from) return {};
  std::vector<Cause> out;
  for (const VerdictRule* rule : order) out.push_back(rule->cause);
  if (out.size() > kMostRows) out.resize(kMostRows);
  if (share(VerdictRules()[static_cast<size_t>(Cause::kPreemption)]) >= kPreemptionFrom) {
    out.push_back(Cause::kPreemption);
  }
  return out;
}

std::string Verdicts::LateRank(const ProcessCauses& causes) const {
  const auto late = std::max_element(causes.ranks.begin(), causes.ranks.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return late == causes.ranks.end() ? "" : context_.process_title({late->first});
}

// Where samples saw the lead; for what another process does for it, where they saw that process.
BlamedLines Verdicts::LinesOf(uint32_t process, Cause cause) const {
  const BlamedLines& own = causes_.processes[process].causes[static_cast<size_t>(cause)].lines;
  if (cause != Cause::kInput && cause != Cause::kOtherProcess) return own;
  BlamedLines others;
  for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
    if (p == process) continue;
    for (size_t c = 0; c < kCauses; ++c) {
      const auto other = static_cast<Cause>(c);
      const bool works = other != Cause::kWaiting && other != Cause::kOtherProcess &&
                         other != Cause::kOtherRank && other != Cause::kLock &&
                         other != Cause::kUnknown;
      if (cause == Cause::kInput ? other != Cause::kInput : !works) continue;
      for (const auto& [line, blamed] : causes_.processes[p].causes[c].lines) {
        others[line].ns += blamed.ns;
        others[line].samples += blamed.samples;
      }
    }
  }
  int64_t of_own = 0, of_others = 0;
  for (const auto& [line, blamed] : own) of_own += blamed.samples;
  for (const auto& [line, blamed] : others) of_others += blamed.samples;
  return 2 * of_others > of_own ? others : own;
}

Verdicts::Top Verdicts::TopName(uint32_t process, const CauseSum& sum, Cause cause) const {
  const auto of = [this](const std::map<uint32_t, int64_t>& names, int64_t all) -> Top {
    const auto top = std::max_element(names.begin(), names.end(),
                                      [](auto& a, auto& b) { return a.second < b.second; });
    if (top == names.end()) return {};
    return {std::string(trace_.text(trace_.name({top->first}).text)), Share(top->second, all)};
  };
  if (cause == Cause::kDevice || cause == Cause::kCopies) {
    std::map<uint32_t, int64_t> kernels;
    int64_t all = 0;
    const WorkType type = cause == Cause::kDevice ? WorkType::kComputation : WorkType::kCopy;
    for (const DeviceEvent& event : context_.Shared<DeviceWork>().events({process})) {
      if (event.type != type) continue;
      const trace::NameId name = trace_.tracks[event.track.value].spans.name[event.span];
      kernels[name.value] += event.end_ns - event.begin_ns;
      all += event.end_ns - event.begin_ns;
    }
    return of(kernels, all);
  }
  return of(sum.names, sum.ns);
}

// 95 % bounds of the share that `of_all` samples show as `seen` (Wilson's score).
std::string BoundsText(int64_t seen, int64_t of_all) {
  constexpr double kQuantile = 1.96, kSquare = kQuantile * kQuantile;
  const auto n = static_cast<double>(of_all);
  const double share = static_cast<double>(seen) / n;
  const double middle = (share + kSquare / (2 * n)) / (1 + kSquare / n);
  const double half =
      kQuantile / (1 + kSquare / n) * std::sqrt(share * (1 - share) / n + kSquare / (4 * n * n));
  return ShareText(std::max(0.0, middle - half)) + " to " + ShareText(std::min(1.0, middle + half));
}

// The place to look at, and its own part of the cause's time.
Verdicts::Place Verdicts::PlaceOf(uint32_t process, Cause cause) const {
  const CauseSum& sum = causes_.processes[process].causes[static_cast<size_t>(cause)];
  const Accounting& a = context_.Shared<Accounting>();
  const BlamedLines lines = LinesOf(process, cause);
  int64_t samples = 0;
  trace::StringId top;
  for (const auto& [line, blamed] : lines) {
    samples += blamed.samples;
    if (blamed.samples > 0 && (!top.valid() || blamed.samples > lines.at(top).samples)) top = line;
  }
  const auto [name, part] = TopName(process, sum, cause);
  Place place = {"", "", 1};
  if (top.valid()) {
    const int64_t seen = lines.at(top).samples;
    place = {std::string(trace_.text(top)),
             "; samples saw this line in " + std::to_string(seen) + " of " +
                 std::to_string(samples) + " (" + BoundsText(seen, samples) + ")",
             static_cast<double>(seen) / static_cast<double>(samples)};
    if (seen < kFewSamples) place.words += ", too few to be sure of it";
    if (!name.empty()) {
      place.words += (part >= 0.5 ? ", most of it in " : ", the largest part of it in ") + name;
    }
  } else if (!name.empty()) {
    place = {name, "", part};
  }
  const auto operation = std::max_element(sum.operations.begin(), sum.operations.end(),
                                          [](auto& x, auto& y) { return x.second < y.second; });
  if (operation == sum.operations.end() || operation->first == 0) return place;
  if (2 * operation->second < sum.ns) return place;
  const std::string text(trace_.text(a.names.operations[operation->first]));
  if (place.blame.empty()) place = {text, "", Share(operation->second, sum.ns)};
  place.words += "; operation " + text;
  return place;
}

Row Verdicts::RowOf(uint32_t process, Cause cause, int64_t rank) const {
  const ProcessCauses& causes = causes_.processes[process];
  const CauseSum& sum = causes.causes[static_cast<size_t>(cause)];
  const VerdictRule& rule = VerdictRules()[static_cast<size_t>(cause)];
  const bool steps = causes.part == WindowPart::kSteps;
  Row row = {process, rank, CauseName(cause), "",         Share(sum.ns, causes.total_ns), 0, 0, 0,
             "",      "",   rule.table,       rule.action};
  row.headline = Fill(rank == 1 ? rule.headline : rule.also, row.share,
                      steps ? "the steps" : "the window", LateRank(causes));
  if (rank > 1) {
    row.headline += steps ? " of the steps" : " of the window";
    row.headline += Lasts(causes, cause) ? "." : ", most of it in a few steps.";
  }
  row.gain = Share(sum.alone_ns, causes.total_ns);
  const auto [low, high] = BoundsOf(causes, static_cast<size_t>(cause));
  const double alone = Share(sum.alone_ns, sum.ns);  // of the cause
  row.low = low * alone;
  row.high = high * alone;
  if (cause == Cause::kPython && sum.samples > 0 && !causes.knows_native) {
    row.action = kWherePythonAloneIsSampled;
  }
  if (cause == Cause::kPreemption) {  // its time is not told by step
    row.gain = row.share;
    row.low = row.high = std::numeric_limits<double>::quiet_NaN();
  }
  const Place place = PlaceOf(process, cause);
  const int64_t ns = std::llround(place.share * static_cast<double>(sum.ns));
  row.blame = place.blame;
  row.evidence = TimeOfText(ns, causes.total_ns);
  if (!causes.steps.empty()) {
    row.evidence += ", " + TimeText(ns / static_cast<int64_t>(causes.steps.size())) + " a step";
  } else {
    row.evidence += ": no steps were found";
  }
  row.evidence += place.words;
  return row;
}

Row Verdicts::NothingStandsOut(uint32_t process) const {
  const ProcessCauses& causes = causes_.processes[process];
  const char* of = causes.part == WindowPart::kSteps ? "the steps" : "the window";
  size_t largest = 0;
  for (size_t c = 0; c < kCauses; ++c) {
    if (static_cast<Cause>(c) == Cause::kPreemption) continue;
    if (causes.causes[c].ns > causes.causes[largest].ns) largest = c;
  }
  const double share = Share(causes.causes[largest].ns, causes.total_ns);
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Row row = {process, 1,     "none", "", share,         0,
             kNone,   kNone, "",     "", "step_causes", "look at where the time went, below"};
  const bool unknown = static_cast<Cause>(largest) == Cause::kUnknown && share > 0.5;
  row.headline =
      Fill(unknown ? "Nothing was recorded of {share} of {of}." : "Nothing stands out in {of}.",
           share, of);
  const std::string name = CauseName(static_cast<Cause>(largest));
  row.evidence = "the largest cause, " + name + ", takes " + ShareText(share);
  if (!Lasts(causes, static_cast<Cause>(largest))) row.evidence += ", most of it in a few steps";
  return row;
}

std::vector<Row> Verdicts::Make() {
  struct Candidate {
    uint32_t process;
    std::vector<Cause> causes;
    int weight;  // 2: a burden of its own, 1: it waits for another process, 0: neither
    double share;
  };
  std::vector<Candidate> candidates;
  bool any_steps = false;
  for (const ProcessCauses& c : causes_.processes) any_steps |= c.part == WindowPart::kSteps;
  int64_t longest = 0;
  for (const ProcessCauses& c : causes_.processes) longest = std::max(longest, c.total_ns);
  for (uint32_t p = 0; p < causes_.processes.size(); ++p) {
    const ProcessCauses& causes = causes_.processes[p];
    // Helpers of the processes that make the steps are told through them; without steps, the
    // longest process speaks.
    const bool speaks = any_steps ? causes.part == WindowPart::kSteps && !causes.steps.empty()
                                  : causes.total_ns == longest && longest > 0;
    if (!speaks) continue;
    Candidate candidate = {p, Chosen(causes), 0, 0};
    if (!candidate.causes.empty()) {
      const auto first = static_cast<size_t>(candidate.causes[0]);
      const bool waits = candidate.causes[0] == Cause::kCommunication ||
                         candidate.causes[0] == Cause::kOtherProcess ||
                         candidate.causes[0] == Cause::kOtherRank;
      candidate.weight = VerdictRules()[first].purpose ? 0 : waits ? 1 : 2;
      candidate.share = Share(causes.causes[first].ns, causes.total_ns);
    }
    candidates.push_back(std::move(candidate));
    if (!any_steps) break;
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.weight != b.weight ? a.weight > b.weight : a.share > b.share;
                   });
  std::vector<Row> rows;
  for (const Candidate& candidate : candidates) {
    if (candidate.causes.empty()) rows.push_back(NothingStandsOut(candidate.process));
    int64_t rank = 1;
    for (const Cause cause : candidate.causes) {
      rows.push_back(RowOf(candidate.process, cause, rank++));
    }
  }
  return rows;
}

}  // namespace

Table VerdictTable(const trace::Trace&, const Context& context) {
  const std::vector<Row> rows = Verdicts(context).Make();
  Texts process, cause, headline, blame, evidence, table, action;
  Integers rank;
  Reals share, gain, low, high;
  for (const Row& row : rows) {
    process.push_back(context.process_label({row.process}));
    rank.push_back(row.rank);
    cause.emplace_back(row.cause);
    headline.push_back(row.headline);
    share.push_back(row.share);
    gain.push_back(row.gain);
    low.push_back(row.low);
    high.push_back(row.high);
    blame.push_back(row.blame);
    evidence.push_back(row.evidence);
    table.emplace_back(row.table);
    action.emplace_back(row.action);
  }
  return MakeTable("verdict", MakeColumn("process", process), MakeColumn("rank", rank),
                   MakeColumn("cause", cause), MakeColumn("headline", headline),
                   MakeColumn("share", share), MakeColumn("gain_share", gain),
                   MakeColumn("gain_low_share", low), MakeColumn("gain_high_share", high),
                   MakeColumn("blame", blame), MakeColumn("evidence", evidence),
                   MakeColumn("table", table), MakeColumn("action", action));
}

}  // namespace crosscut::analyze
