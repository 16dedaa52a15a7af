#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/accounting/overhead.h"
#include "src/analyze/columns.h"
#include "src/analyze/figures.h"
#include "src/analyze/intervals.h"
#include "src/analyze/verdict/causes.h"
#include "src/analyze/verdict/lasting.h"
#include "src/analyze/verdict/lead_states.h"
#include "src/analyze/verdict/places.h"
#include "src/analyze/verdict/rules.h"
#include "src/analyze/verdict/tables.h"
#include "src/analyze/verdict/who_speaks.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kMostRows = 3;      // of a process
constexpr size_t kFewestSteps = 10;  // for an interval
// Below, a line is known to a third of its time at best, and another may well take as much.
constexpr int64_t kFewSamples = 10;
// From so much of a place's time on, the headline tells one cause.
constexpr double kMostOfPlace = 0.85;
constexpr double kWorthListing = 0.05;  // of a place's time, of one cause
constexpr double kShortPart = 0.25;     // of the time that the longest steps take
constexpr double kWorthTelling = 0.02;  // of the steps, at other lines that a place calls

constexpr char kWherePythonAloneIsSampled[] =
    "do this work once, in native code, or outside the loop. Native code that keeps the GIL counts "
    "as Python where nothing wraps it: --python=samples tells them apart";

constexpr char kWhereTheProgramCollects[] =
    "call gc.collect() less often, as Python collects by itself, or gc.freeze() what lives on "
    "before the loop";

constexpr char kWhereSimulatorsRunAlready[] =
    "make this line cheaper: simulators run in parallel already, and each step waits for the "
    "slowest";

struct Row {
  uint32_t process;
  int64_t rank;
  const char* cause;
  std::string headline;
  double share, gain, low, high;
  std::string blame, evidence;
  const char *table, *action;
};

std::string Fill(std::string_view text, double share, const std::string& of,
                 const std::string& who = "") {
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

// 95 % bounds of the share of `cause`.
std::pair<double, double> BoundsOf(const ProcessCauses& causes, size_t cause) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> parts, wholes;
  for (const auto& step : causes.steps) {
    parts.push_back(static_cast<double>(step[cause]));
    wholes.push_back(static_cast<double>(ProgramNs(step)));
  }
  const double whole = std::accumulate(wholes.begin(), wholes.end(), 0.0);
  if (parts.size() < kFewestSteps || whole <= 0) return {kUnknown, kUnknown};
  const Ratio share = RatioOf(parts, wholes);
  return {std::max(0.0, share.value - share.half), std::min(1.0, share.value + share.half)};
}

// Whether so much by step lasts, as in ProcessCauses::steps.
bool Lasts(const ProcessCauses& causes, const std::vector<int64_t>& parts) {
  std::vector<int64_t> wholes;
  for (const auto& step : causes.steps) wholes.push_back(ProgramNs(step));
  return analyze::Lasts(parts, wholes);
}

bool Lasts(const ProcessCauses& causes, Cause cause) {
  if (cause == Cause::kPreemption) return true;  // it is not told by step
  std::vector<int64_t> parts;
  for (const auto& step : causes.steps) parts.push_back(step[static_cast<size_t>(cause)]);
  return Lasts(causes, parts);
}

// By cause.
using LastingCauses = std::array<bool, kCauses>;
LastingCauses LastingOf(const ProcessCauses& causes) {
  LastingCauses lasts;
  for (size_t c = 0; c < kCauses; ++c) lasts[c] = Lasts(causes, static_cast<Cause>(c));
  return lasts;
}

const VerdictRule& RuleOf(const trace::Trace& trace, Cause cause) {
  if (cause == Cause::kOtherProcess && trace.processes.size() == 1) return WhoAnswersRule();
  return VerdictRules()[static_cast<size_t>(cause)];
}

// What a verdict is about: a cause, with the place that has most of it; or a place whose time has
// several causes, of which this is the first.
struct Subject {
  Cause cause;
  const Place* place = nullptr;  // null: no line is known
  bool several = false;
  double share = 0;        // of the steps: the cause's, or, with several, the place's
  bool elsewhere = false;  // the cause is told of another place, too, which is left out here
};

// What shares of that cause are of. That the lead had no processor in some of it is told of all.
std::string OfText(const ProcessCauses& causes, Cause cause) {
  const std::string part = causes.part == WindowPart::kSteps      ? "the steps"
                           : causes.part == WindowPart::kRequests ? "the time with requests"
                                                                  : "the window";
  const double left_out = Share(causes.preempted.ns, causes.whole_ns(Cause::kPreemption));
  const bool all = cause == Cause::kPreemption || left_out < kWorthSaying;
  return all ? part : part + " without waits for a processor";
}

// "waiting for another process 60 %, native code 15 %": all but the smallest parts of the place.
std::string KindsText(const trace::Trace& trace, const Place& place, int64_t total_ns,
                      double error) {
  std::string out;
  for (const auto& [ns, cause] : RankedCauses(place.causes)) {
    if (Share(ns, place.all.ns) < kWorthListing) break;
    out += (out.empty() ? "" : ", ") + std::string(RuleOf(trace, cause).kind) + " " +
           ShareText(Share(ns, total_ns), error);
  }
  return out;
}

class Verdicts {
 public:
  explicit Verdicts(const Context& context)
      : trace_(context.trace()),
        context_(context),
        causes_(context.Shared<Causes>()),
        places_(context.Shared<Places>()) {}
  std::vector<Row> Make();

 private:
  // What is told of a process, the first first.
  std::vector<Subject> Chosen(uint32_t process) const;
  const Place* BurdenPlace(uint32_t process, const LastingCauses& lasts) const;
  // The place with most of a cause, but for `other`; null: none is known, or it has little of it
  // and does much else, or most of the cause is at no line.
  const Place* PlaceOf(uint32_t process, Cause cause, const Place* other) const;
  Row RowOf(uint32_t process, const Subject& subject, int64_t rank) const;
  // Waiting for a processor bounds nothing by itself.
  static bool StandsOut(const std::vector<Subject>& subjects) {
    return !subjects.empty() && subjects[0].cause != Cause::kPreemption;
  }
  Row NothingStandsOut(uint32_t process) const;
  // What `row` is to say where no line is known: a name or an operation, with its part of the
  // cause, of which no more is told than the subject has.
  void BlameName(uint32_t process, const Subject& subject, Row* row) const;
  void BlamePlace(uint32_t process, const Subject& subject, Row* row) const;
  std::string AmountText(uint32_t process, int64_t ns, Cause cause) const;
  // ", most of it in NAME; operation OP"
  std::string MostText(uint32_t process, const Place& place, Cause cause) const;
  // The operation that has half of it at least; "": none does.
  std::string OperationOf(const CauseSum& sum) const;
  // The process for which this one waits longest in collectives, and how many others it waits for;
  // "": it does not.
  std::string LateRanks(const ProcessCauses& causes) const;
  // Simulators that run in other processes while this one waits for them. A step of them all takes
  // as long as the slowest does.
  struct Simulators {
    std::vector<uint32_t> slowest;  // one, or all that take about as long
    size_t processes = 0;           // 0: it does not wait for others
  };
  Simulators SimulatorsFor(uint32_t process) const;
  // The name that has most of a cause's time; "": none has any.
  struct Top {
    std::string name;
    double part = 0;  // of the cause
  };
  Top TopName(const CauseSum& sum) const;

  const trace::Trace& trace_;
  const Context& context_;
  const Causes& causes_;
  const Places& places_;
};

// One that is no part of the program's purpose, and that without which a step would be a third
// faster, whatever causes its time has, but those that a few steps alone have. Where a cause takes
// more than twice as much elsewhere, that is what bounds the steps.
const Place* Verdicts::BurdenPlace(uint32_t process, const LastingCauses& lasts) const {
  const ProcessCauses& causes = causes_.processes[process];
  for (const Place& place : places_.processes[process]) {
    double burden = 0, most = 0;
    for (size_t c = 0; c < kCauses; ++c) {
      const VerdictRule& rule = VerdictRules()[c];
      if (rule.first_from > 1) continue;
      if (!rule.purpose && lasts[c]) burden += Share(place.causes[c], causes.program_ns());
      most = std::max(most, Share(causes.causes[c].ns - place.causes[c], causes.program_ns()));
    }
    if (place.own.share < kBurdenFrom) break;  // the longest stand first
    const bool enough = burden >= std::max(kBurdenFrom, kBurdenToPurpose * most);
    if (enough && 2 * burden > place.own.share && place.own.low >= kWorthSaying &&
        Lasts(causes, place.steps)) {
      return &place;
    }
  }
  return nullptr;
}

const Place* Verdicts::PlaceOf(uint32_t process, Cause cause, const Place* other) const {
  const auto c = static_cast<size_t>(cause);
  const Place* most = nullptr;
  int64_t at_places = 0;
  for (const Place& place : places_.processes[process]) {
    at_places += place.causes[c];
    if (&place == other || place.causes[c] == 0) continue;
    if (most == nullptr || place.causes[c] > most->causes[c]) most = &place;
  }
  if (most == nullptr) return nullptr;
  const auto part_of = [&](int64_t whole) { return Share(most->causes[c], whole); };
  const int64_t all_ns = causes_.processes[process].causes[c].ns;
  const bool elsewhere = part_of(most->all.ns) < kMostOfPlace || 2 * at_places < all_ns;
  const bool little = elsewhere && part_of(all_ns) < kWorthListing;
  return little ? nullptr : most;
}

std::vector<Subject> Verdicts::Chosen(uint32_t process) const {
  const ProcessCauses& causes = causes_.processes[process];
  const LastingCauses lasting = LastingOf(causes);
  const auto lasts = [&](Cause cause) { return lasting[static_cast<size_t>(cause)]; };
  std::vector<Subject> out;
  const Place* first = BurdenPlace(process, lasting);
  if (first != nullptr) {
    const Cause cause = first->cause();
    const auto c = static_cast<size_t>(cause);
    const bool several = Share(first->causes[c], first->all.ns) < kMostOfPlace;
    const double share =
        several ? first->own.share : Share(causes.causes[c].ns, causes.program_ns());
    out.push_back({cause, first, several, share, false});
  }
  // What is left of a cause, where a place with several causes is told before it.
  const auto left = [&](Cause cause) {
    const auto c = static_cast<size_t>(cause);
    if (out.empty() || first == nullptr) return Share(causes.causes[c].ns, causes.program_ns());
    if (!out[0].several && cause == out[0].cause) return 0.0;
    return Share(causes.causes[c].ns - first->causes[c], causes.program_ns());
  };
  std::vector<const VerdictRule*> order;
  double purpose = 0;  // the largest
  for (const VerdictRule& rule : VerdictRules()) {
    if (rule.first_from > 1 || left(rule.cause) < kWorthSaying) continue;
    order.push_back(&rule);
    if (rule.purpose) purpose = std::max(purpose, left(rule.cause));
  }
  const auto is_burden = [&](const VerdictRule& rule) {
    return !rule.purpose &&
           left(rule.cause) >= std::max(rule.first_from, kBurdenToPurpose * purpose);
  };
  // A burden that may stand first goes before the program's purpose; then the largest.
  std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
    if (lasts(a->cause) != lasts(b->cause)) return lasts(a->cause);
    if (is_burden(*a) != is_burden(*b)) return is_burden(*a);
    return left(a->cause) > left(b->cause);
  });
  const bool stands_out =
      !order.empty() && lasts(order[0]->cause) && left(order[0]->cause) >= order[0]->first_from;
  if (first == nullptr && !stands_out) order.clear();
  for (const VerdictRule* rule : order) {
    if (out.size() == kMostRows) break;
    const bool elsewhere = first != nullptr && first->causes[static_cast<size_t>(rule->cause)] > 0;
    out.push_back(
        {rule->cause, PlaceOf(process, rule->cause, first), false, left(rule->cause), elsewhere});
  }
  const double queue = Share(causes.causes[static_cast<size_t>(Cause::kPreemption)].ns,
                             causes.whole_ns(Cause::kPreemption));
  if (queue >= kPreemptionFrom) out.push_back({Cause::kPreemption, nullptr, false, queue, false});
  return out;
}

std::string Verdicts::LateRanks(const ProcessCauses& causes) const {
  const auto late = Largest(causes.ranks);
  if (late == causes.ranks.end()) return "";
  const size_t more = causes.ranks.size() - 1;
  return context_.trace().title({late->first}) +
         (more == 0 ? "" : " and " + std::to_string(more) + (more == 1 ? " other" : " others"));
}

Verdicts::Simulators Verdicts::SimulatorsFor(uint32_t process) const {
  constexpr double kAsSlow = 0.8;
  const auto sum = [this](uint32_t p) -> const CauseSum& {
    return causes_.processes[p].causes[static_cast<size_t>(Cause::kSimulator)];
  };
  int64_t longest = 0;
  Simulators out;
  if (2 * sum(process).others_ns < sum(process).ns) return out;
  const auto simulates = [&](uint32_t p) {
    return trace_.processes[p].parent.value == process && sum(p).ns > 0;
  };
  for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
    if (!simulates(p)) continue;
    ++out.processes;
    longest = std::max(longest, sum(p).ns);
  }
  for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
    const auto least = static_cast<int64_t>(kAsSlow * static_cast<double>(longest));
    if (simulates(p) && sum(p).ns >= least) out.slowest.push_back(p);
  }
  return out;
}

// Names that differ in where they are called from are one.
Verdicts::Top Verdicts::TopName(const CauseSum& sum) const {
  std::map<uint32_t, int64_t> texts;
  int64_t all = 0;  // more than the cause's time where streams work at once
  for (const auto& [name, ns] : sum.names) {
    texts[trace_.name({name}).text.value] += ns;
    all += ns;
  }
  const auto top = Largest(texts);
  if (top == texts.end()) return {};
  return {std::string(trace_.text({top->first})), Share(top->second, std::max(all, sum.ns))};
}

std::string Verdicts::OperationOf(const CauseSum& sum) const {
  const auto most = Largest(sum.operations);
  if (most == sum.operations.end() || most->first == 0 || 2 * most->second < sum.ns) return "";
  const NameCodes& names = context_.Shared<Accounting>().names;
  return std::string(trace_.text(names.operations[most->first]));
}

std::string Verdicts::MostText(uint32_t process, const Place& place, Cause cause) const {
  const ProcessCauses& causes = causes_.processes[process];
  const CauseSum sum = SumAt(causes, place, cause);
  const std::string operation = OperationOf(sum);
  const auto told = [](const Top& top, const std::string& of) {
    if (top.name.empty() || top.part < kWorthSaying) return std::string();
    return (top.part >= 0.5 ? "most" : "the largest part") + of + top.name;
  };
  const bool gil = cause == Cause::kLock && 2 * GilAt(causes, place) > place.all.ns;
  std::string most = gil ? "where another thread holds the GIL" : told(TopName(sum), " of it in ");
  if (most.empty() && IsOfDevices(cause)) {
    const CauseSum& all = causes.causes[static_cast<size_t>(cause)];
    most = told(TopName(all), " of what devices do is ");
  }
  return (most.empty() ? "" : ", " + most) + (operation.empty() ? "" : "; operation " + operation);
}

// "123 ms of 456 ms, 1.2 ms a step"
std::string Verdicts::AmountText(uint32_t process, int64_t ns, Cause cause) const {
  const ProcessCauses& causes = causes_.processes[process];
  const std::string text = TimeOfText(ns, causes.whole_ns(cause));
  if (causes.part == WindowPart::kRequests) {
    const size_t requests = context_.Shared<Accounting>().requests[process].size();
    return text + ", " + TimeText(ns / static_cast<int64_t>(requests)) + " a request";
  }
  if (causes.steps.empty()) return text + ": no steps were found";
  return text + ", " + TimeText(ns / static_cast<int64_t>(causes.steps.size())) + " a step";
}

void Verdicts::BlameName(uint32_t process, const Subject& subject, Row* row) const {
  const ProcessCauses& causes = causes_.processes[process];
  const Cause cause = subject.cause;
  const CauseSum& sum = causes.causes[static_cast<size_t>(cause)];
  const auto [name, part_of_name] = TopName(sum);
  const std::string operation = OperationOf(sum);
  double part = 1;
  if (!name.empty()) {
    row->blame = name;
    part = part_of_name;
    if (!operation.empty()) row->evidence = "; operation " + operation;
  } else if (!operation.empty()) {
    row->blame = operation;
    part = Share(Largest(sum.operations)->second, sum.ns);
  }
  if (subject.elsewhere) part = std::min(part, subject.share / Share(sum.ns, causes.program_ns()));
  row->evidence =
      AmountText(process, std::llround(part * static_cast<double>(sum.ns)), cause) + row->evidence;
  const auto [low, high] = BoundsOf(causes, static_cast<size_t>(cause));
  const double alone = part * Share(sum.alone_ns, sum.ns);  // of the cause
  row->gain = part * Share(sum.alone_ns, causes.program_ns());
  row->low = low * alone, row->high = high * alone;
  if (cause == Cause::kPreemption) {  // its time is not told by step
    row->gain = row->share;
    row->low = row->high = std::numeric_limits<double>::quiet_NaN();
  }
}

void Verdicts::BlamePlace(uint32_t process, const Subject& subject, Row* row) const {
  const Place& place = *subject.place;
  const ProcessCauses& causes = causes_.processes[process];
  const Place::Part& own = place.own;
  const double error = (own.high - own.low) / 2;
  const std::string of = OfText(causes, subject.cause);
  row->blame = LineText(trace_, place.line);
  row->gain = place.gain.share, row->low = place.gain.low, row->high = place.gain.high;
  std::string& text = row->evidence;
  // Of a line that is more than what the headline tells, the part that this has comes first.
  const int64_t of_cause = place.causes[static_cast<size_t>(subject.cause)];
  const bool mixed = !subject.several && Share(of_cause, place.all.ns) < kMostOfPlace;
  if (mixed) {
    text = std::string(RuleOf(trace_, subject.cause).kind) + " " +
           ShareText(Share(of_cause, causes.program_ns())) + " of " + of + "; the line takes ";
  }
  text += AmountText(process, place.all.ns, subject.cause) + "; " + ShareText(own.share, error) +
          " of " + of + " (" + ShareText(own.low, error) + " to " + ShareText(own.high, error) +
          " by " + std::to_string(place.all.samples) +
          (place.all.samples == 1 ? " sample)" : " samples)");
  if (place.all.samples < kFewSamples) text += ", too few to be sure of it";
  if (place.lines > 1) {
    text += ", with " + std::to_string(place.lines - 1) +
            (place.lines == 2 ? " more line" : " more lines") + " of its loop";
  }
  if (place.whole.share >= own.share + kWorthTelling) {
    const bool ahead = 2 * place.ahead_ns > (place.whole.share - own.share) * causes.program_ns();
    text += ", " + ShareText(place.whole.share, error) + " with what it " +
            (ahead ? "does before it is waited for" : "calls");
  }
  if (mixed || Share(of_cause, place.all.ns) < 1 - kWorthListing) {
    text += ": " + KindsText(trace_, place, causes.program_ns(), error);
  } else {
    text += MostText(process, place, subject.cause);
  }
}

Row Verdicts::RowOf(uint32_t process, const Subject& subject, int64_t rank) const {
  const ProcessCauses& causes = causes_.processes[process];
  const Cause cause = subject.cause;
  const VerdictRule& rule = RuleOf(trace_, cause);
  const std::string of = OfText(causes, cause);
  Row row = {process, rank, CauseName(cause), "",         subject.share, 0, 0, 0,
             "",      "",   rule.table,       rule.action};
  row.headline = Fill(rank == 1 ? rule.headline : rule.also, row.share, of, LateRanks(causes));
  if (subject.several) {
    row.headline = "Bound by " + LineText(trace_, subject.place->line) + ": it takes " +
                   ShareText(row.share) + " of " + of + ".";
  } else if (rank > 1) {
    row.headline += " of " + of + (subject.elsewhere ? " elsewhere" : "");
    row.headline += Lasts(causes, cause) ? "." : ", most of it in a few steps.";
  }
  const CauseSum& sum = causes.causes[static_cast<size_t>(cause)];
  if (cause == Cause::kPython && sum.samples > 0 && !causes.knows_native) {
    row.action = kWherePythonAloneIsSampled;
  }
  if (cause == Cause::kGc) {
    const Top top = TopName(subject.place == nullptr ? sum : SumAt(causes, *subject.place, cause));
    if (top.name == kAskedCollection && top.part >= 0.5) row.action = kWhereTheProgramCollects;
  }
  std::string slowest;
  if (cause == Cause::kSimulator) {
    const Simulators others = SimulatorsFor(process);
    if (others.processes > 1) row.action = kWhereSimulatorsRunAlready;
    if (others.slowest.size() == 1 && others.processes > 1) {
      slowest = "; the slowest of " + std::to_string(others.processes) + " processes, " +
                context_.trace().title({others.slowest[0]});
    }
  }
  const auto blame = subject.place != nullptr ? &Verdicts::BlamePlace : &Verdicts::BlameName;
  (this->*blame)(process, subject, &row);
  row.evidence += slowest;
  return row;
}

Row Verdicts::NothingStandsOut(uint32_t process) const {
  const ProcessCauses& causes = causes_.processes[process];
  size_t largest = 0;
  for (size_t c = 0; c < kCauses; ++c) {
    if (IsOfProgram(static_cast<Cause>(c)) && causes.causes[c].ns > causes.causes[largest].ns) {
      largest = c;
    }
  }
  const double share = Share(causes.causes[largest].ns, causes.program_ns());
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Row row = {process, 1,     "none", "", share,         0,
             kNone,   kNone, "",     "", "step_causes", "look at where the time went, below"};
  if (causes.part == WindowPart::kSteps && causes.steps.empty()) {
    row.headline = "What bounds the steps is not known: none was recorded.";
    row.evidence = "all of them are control steps, or the budget left them out";
    row.table = "window_parts";
    return row;
  }
  const bool unknown = static_cast<Cause>(largest) == Cause::kUnknown && share > 0.5;
  row.headline =
      Fill(unknown ? "Nothing was recorded of {share} of {of}." : "Nothing stands out in {of}.",
           share, OfText(causes, static_cast<Cause>(largest)));
  const std::string name = CauseName(static_cast<Cause>(largest));
  row.evidence = "the largest cause, " + name + ", takes " + ShareText(share);
  if (!Lasts(causes, static_cast<Cause>(largest))) row.evidence += ", most of it in a few steps";
  return row;
}

std::vector<Row> Verdicts::Make() {
  struct Candidate {
    uint32_t process;
    std::vector<Subject> subjects;
    int weight;  // 2: a burden of its own, 1: it waits for another process, 0: neither
    double share;
    bool is_short;  // it has done this for a small part of the time that another one has
  };
  std::vector<Candidate> candidates;
  for (const uint32_t p : WhoSpeaks(context_)) {
    Candidate candidate = {p, Chosen(p), 0, 0, false};
    if (StandsOut(candidate.subjects)) {
      const Subject& first = candidate.subjects[0];
      const bool waits = first.cause == Cause::kCommunication ||
                         first.cause == Cause::kOtherProcess || first.cause == Cause::kOtherRank;
      candidate.weight = RuleOf(trace_, first.cause).purpose ? 0 : waits ? 1 : 2;
      candidate.share = first.share;
    }
    candidates.push_back(std::move(candidate));
  }
  int64_t most = 0;
  for (const Candidate& c : candidates) {
    most = std::max(most, causes_.processes[c.process].program_ns());
  }
  for (Candidate& c : candidates) {
    c.is_short = kShortPart * static_cast<double>(most) >
                 static_cast<double>(causes_.processes[c.process].program_ns());
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     if (a.is_short != b.is_short) return b.is_short;
                     return a.weight != b.weight ? a.weight > b.weight : a.share > b.share;
                   });
  std::vector<Row> rows;
  for (const Candidate& candidate : candidates) {
    const bool none = !StandsOut(candidate.subjects);
    if (none) rows.push_back(NothingStandsOut(candidate.process));
    int64_t rank = none ? 2 : 1;
    for (const Subject& subject : candidate.subjects) {
      rows.push_back(RowOf(candidate.process, subject, rank++));
    }
  }
  return rows;
}

}  // namespace

Table VerdictTable(const trace::Trace&, const Context& context) {
  const std::vector<Row> rows = Verdicts(context).Make();
  TableRows table("verdict", Text("process"), Integer("rank"), Text("cause"), Text("headline"),
                  Real("share"), Real("gain_share"), Real("gain_low_share"),
                  Real("gain_high_share"), Text("blame"), Text("evidence"), Text("table"),
                  Text("action"));
  for (const Row& row : rows) {
    table.Add(context.process_label({row.process}), row.rank, row.cause, row.headline, row.share,
              row.gain, row.low, row.high, row.blame, row.evidence, row.table, row.action);
  }
  return table.Make();
}

}  // namespace crosscut::analyze
