#include "src/compare/answer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "src/compare/renames.h"
#include "src/report/numbers.h"

namespace crosscut::compare {
namespace {

// "+3.100 ms", "-412 ns"
std::string Signed(double ns) {
  const int64_t whole = std::llround(ns);
  return (whole < 0 ? "-" : "+") + report::FormatNs(std::abs(whole));
}

std::string Percent(double share, bool sign) {
  char text[40];
  snprintf(text, sizeof text, sign ? "%+.1f %%" : "%.1f %%", 100 * share);
  return text;
}

std::string Interval(const Answer& c) {
  return "(95 %: " + Percent(c.low, true) + " to " + Percent(c.high, true) + ")";
}

std::string NameOf(const OperationChange& o) {
  return o.operation.empty() ? "(no operation)" : o.operation;
}

std::string ToldName(const OperationChange& o) {
  if (o.operation.empty()) return NameOf(o);
  return NameOf(o) + (o.is_new() ? " (new)" : o.is_gone() ? " (gone)" : "");
}

// Those that stand out, the largest change first.
std::vector<const OperationChange*> StandOut(const StepChange& change) {
  std::vector<const OperationChange*> out;
  for (const OperationChange& o : change.operations) {
    if (o.stands_out) out.push_back(&o);
  }
  std::stable_sort(out.begin(), out.end(), [](const auto* x, const auto* y) {
    return std::abs(x->own.ns()) > std::abs(y->own.ns());
  });
  return out;
}

// "data: +3.1 ms a step (95 %: +2.9 ms to +3.3 ms)", the first two of them.
std::string OperationsText(const std::vector<const OperationChange*>& operations, double pace) {
  constexpr double kOtherPace = 0.02;
  const bool other = std::abs(std::log(pace)) > kOtherPace;
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(2, operations.size()); ++i) {
    const OperationChange& o = *operations[i];
    out += (i == 0 ? "" : ", ") + ToldName(o) + ": " + Signed(o.own.ns()) +
           (other ? " a step at equal pace (95 %: " : " a step (95 %: ") + Signed(o.own.low) +
           " to " + Signed(o.own.high) + ")";
  }
  return out;
}

std::string OfSlower(const Answer& c, const StepChange& change) {
  const std::string way = c.result == Answer::Result::kSlower ? "slower" : "faster";
  std::string out = "A step of B is " + Percent(std::abs(c.change), false) + " " + way + " " +
                    Interval(c) + ", " + Signed(change.step.ns());
  std::vector<const OperationChange*> operations = StandOut(change);
  std::erase_if(operations,
                [&](const OperationChange* o) { return o->change.ns() * change.step.ns() < 0; });
  if (operations.empty()) return out + ", spread over its operations.";
  const OperationChange& first = *operations.front();
  const bool most = first.change.ns() / change.step.ns() > 0.5;
  return out + (most ? ", most of it in " : ", partly in ") + ToldName(first) + ": " +
         Signed(first.change.ns()) + ".";
}

// How many runs would tell what these do not, where they leave more than kToTell open.
std::string MoreRuns(const Answer& c, const StepChange& change) {
  constexpr double kToTell = 0.05;
  if ((c.high - c.low) / 2 <= kToTell) return "";
  const size_t runs = RunsToTell(change, kToTell);
  const std::string count =
      runs == 0 ? "More than " + std::to_string(kMostRuns) : "About " + std::to_string(runs);
  return " " + count + " runs a side would tell " + Percent(kToTell, false) +
         " (--base A1 A2 -- B1 B2).";
}

std::string OfSame(const Answer& c, const RoleSteps& steps) {
  const std::string step = "No difference of a whole step can be told: " + Percent(c.change, true) +
                           " " + Interval(c) + "." + MoreRuns(c, steps.change);
  const auto operations = StandOut(steps.change);
  if (!operations.empty())
    return "B differs in " + OperationsText(operations, steps.change.pace) + ". " +
           (steps.change.paces_differ ? "The machine's pace is not known: operations differ. "
                                      : "") +
           step;
  const bool one_run = std::min(steps.runs.a.size(), steps.runs.b.size()) < 2;
  if (!one_run || std::abs(c.change) < kLeastOfStep) return step;
  return step + " One run a side does not tell another pace of the machine from a slower program.";
}

void TakeSlower(const RoleSteps& role, bool others, Answer* out) {
  const auto take = [&](double growth, const std::string& what, bool is_new) {
    if (growth <= out->slower) return;
    out->slower = growth;
    out->slowest = (others ? role.title() + ": " : "") + what;
    out->slowest_is_new = is_new;
  };
  const Change& step = role.change.step;
  const double wide = others ? OperationChange::kSurely : 1;
  take((step.ns() - wide * (step.ns() - step.low)) / step.a, "a step", false);
  for (const OperationChange* o : StandOut(role.change)) {
    take(o->is_new() ? GrowthOfNew(role.change) : o->least_growth(), NameOf(*o), o->is_new());
  }
}

// "rank1: B has 7 steps ...; and 2 more"; "" where all that take long are compared.
std::string LeftOut(const std::vector<RoleSteps>& roles) {
  std::string out;
  size_t count = 0;
  for (const RoleSteps& role : roles) {
    // A process of which another kind is compared is not left out.
    if (!role.takes_long || role.why_not.empty() || role.has_several) continue;
    if (count++ == 0) out = role.process + ": " + role.why_not;
  }
  return count < 2 ? out : out + "; and " + std::to_string(count - 1) + " more";
}

}  // namespace

Answer NotCompared(const std::string& why_not) {
  Answer out;
  out.why_not = why_not;
  out.headline = "The steps cannot be compared: " + why_not + ".";
  return out;
}

Answer AnswerOf(const std::vector<RoleSteps>& roles) {
  const RoleSteps& steps = roles.front();
  const bool others = roles.size() > 1;
  const StepChange& change = steps.change;
  Answer out;
  out.change = change.step.ns() / change.step.a;
  out.low = std::max(change.step.low / change.step.a, -1.0);  // relative to A whatever it takes
  out.high = change.step.high / change.step.a;
  out.result = out.low > 0    ? Answer::Result::kSlower
               : out.high < 0 ? Answer::Result::kFaster
                              : Answer::Result::kSame;
  out.slower = -std::numeric_limits<double>::infinity();
  for (const RoleSteps& role : roles) {
    if (role.takes_long && role.why_not.empty()) TakeSlower(role, others, &out);
  }
  out.headline = out.result == Answer::Result::kSame ? OfSame(out, steps) : OfSlower(out, change);
  if (const std::string renames = RenamesText(steps.renames); !renames.empty()) {
    out.headline += " " + renames;
  }
  if (others) out.headline = steps.title() + ": " + out.headline;
  out.left_out = LeftOut(roles);
  if (!out.left_out.empty()) {
    out.headline += " Not compared, though its steps take as long: " + out.left_out + ".";
  }
  return out;
}

const char* NameOf(Answer::Result result) {
  switch (result) {
    case Answer::Result::kSlower: return "slower";
    case Answer::Result::kFaster: return "faster";
    case Answer::Result::kSame: return "same";
    case Answer::Result::kNotCompared: break;
  }
  return "not compared";
}

}  // namespace crosscut::compare
