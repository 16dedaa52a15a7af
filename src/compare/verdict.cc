#include "src/compare/verdict.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "src/analyze/accounting/overhead.h"
#include "src/analyze/intervals.h"
#include "src/analyze/quantiles.h"

namespace crosscut::compare {
namespace {

using analyze::Combined;
using analyze::kLayoutSpread;

using Figures = std::vector<Figure>;  // by run

double MeanOf(const Figures& figures) {
  double sum = 0;
  for (const Figure& f : figures) sum += f.ns;
  return sum / static_cast<double>(figures.size());
}

double WorksOf(const Figures& figures) {
  double sum = 0;
  for (const Figure& f : figures) sum += f.works_ns();
  return sum / static_cast<double>(figures.size());
}

double FreedomOf(const Both<Figures>& f) {
  return kKnownBefore + static_cast<double>(f.a.size() + f.b.size()) - 2;
}

// What a side's figures are in: nanoseconds, or the logarithm of them.
enum class Scale { kLinear, kLog };

// The logarithm, wherever it exists. A machine that others use makes work longer by factors: twice
// as long in most of a run does not make seven times as long unsure.
Scale ScaleOf(const Both<Figures>& figures) {
  const auto all = [](const Figures& side) {
    return std::all_of(side.begin(), side.end(),
                       [](const Figure& f) { return f.ns > 0 && std::isfinite(f.log_error); });
  };
  return all(figures.a) && all(figures.b) ? Scale::kLog : Scale::kLinear;
}

// Sums of squares over the runs of a side: of their distances to its mean, and of the standard
// deviations that are known of each before, by which it may be too high, and too low.
struct Squares {
  Squares(const Figures& figures, double spread, Scale scale) {
    const double mean = MeanOf(figures);
    for (const Figure& f : figures) {
      const bool log = scale == Scale::kLog;
      const double known = std::pow(log ? spread : spread * f.ns, 2);
      below += known + std::pow(log ? f.log_error : f.error, 2);
      above += known + std::pow(log ? f.log_error_above : f.error, 2);
      seen += std::pow(log ? std::log(f.ns / mean) : f.ns - mean, 2);
    }
  }
  double below = 0, above = 0, seen = 0;
};

// How far an interval reaches below a figure and above it.
struct Reach {
  double below = 0, above = 0;
};

// `half`: of the interval, below and above.
Reach ReachOf(double ns, const Reach& half, Scale scale) {
  if (scale == Scale::kLinear) return {std::min(half.below, std::max(ns, 0.0)), half.above};
  return {ns - ns / std::exp(std::min(half.below, kMostLog)),
          ns * std::exp(std::min(half.above, kMostLog)) - ns};
}

void SetReach(const Reach& reach, Change* change) {
  change->low = std::max(change->ns() - reach.below, change->least);
  change->high = change->ns() + reach.above;
}

Reach ReachOf(const Change& change) {
  return {change.ns() - change.low, change.high - change.ns()};
}

Change Wider(Change change, double by) {
  const Reach reach = ReachOf(change);
  SetReach({Combined(reach.below, by), Combined(reach.above, by)}, &change);
  return change;
}

Reach Combine(const Reach& one, const Reach& other) {
  return {Combined(one.below, other.below), Combined(one.above, other.above)};
}

// The change with an interval from what is known of the spread of runs and from what is seen of it:
// the interval of each side, then that of their difference ("MOVER": G. Y. Zou, A. Donner,
// Construction of confidence limits about effect measures, Statistics in Medicine 27, 2008).
Change CompareFigures(const Both<Figures>& figures, double spread) {
  const Scale scale = ScaleOf(figures);
  const Squares a(figures.a, spread, scale), b(figures.b, spread, scale);
  const double freedom = FreedomOf(figures), seen = a.seen + b.seen;
  const auto reach = [&](const Figures& side, const Squares& squares) {
    const auto runs = static_cast<double>(side.size());
    const auto half = [&](double known) {
      const double variance = (kKnownBefore * known / runs + seen) / freedom / runs;
      return analyze::StudentFactor(freedom) * std::sqrt(variance);
    };
    return ReachOf(MeanOf(side), {half(squares.below), half(squares.above)}, scale);
  };
  const Reach of_a = reach(figures.a, a), of_b = reach(figures.b, b);
  Change out{MeanOf(figures.a), MeanOf(figures.b)};
  out.least = -out.a - of_a.above;
  SetReach(Combine(of_b, {of_a.above, of_a.below}), &out);
  return out;
}

struct Operation {
  std::string name;
  Both<Figures> figures;
};

std::vector<Operation> OperationsOf(const std::vector<Undisturbed>& a,
                                    const std::vector<Undisturbed>& b) {
  std::set<std::string> names;
  for (const auto* runs : {&a, &b}) {
    for (const Undisturbed& run : *runs) {
      for (const auto& [name, figure] : run.operations) names.insert(name);
    }
  }
  const auto of_side = [](const std::vector<Undisturbed>& runs, const std::string& name) {
    Figures out;
    for (const Undisturbed& run : runs) {
      const auto at = run.operations.find(name);
      out.push_back(at == run.operations.end() ? Figure{} : at->second);
    }
    return out;
  };
  std::vector<Operation> out;
  for (const std::string& name : names) out.push_back({name, {of_side(a, name), of_side(b, name)}});
  return out;
}

Both<Figures> StepFigures(const std::vector<Undisturbed>& a, const std::vector<Undisturbed>& b) {
  Both<Figures> out;
  for (const Undisturbed& run : a) out.a.push_back(run.step);
  for (const Undisturbed& run : b) out.b.push_back(run.step);
  return out;
}

// Those that tell the pace; none where they are too few.
std::vector<const Operation*> Telling(const std::vector<Operation>& operations,
                                      const Change& step) {
  std::vector<const Operation*> tell;
  for (const Operation& o : operations) {
    const auto long_enough = [](const Figures& figures, double of_step) {
      return std::all_of(figures.begin(), figures.end(), [&](const Figure& f) {
        return f.works_ns() > kLeastOfPace * std::max(of_step, 0.0);
      });
    };
    if (long_enough(o.figures.a, step.a) && long_enough(o.figures.b, step.b)) tell.push_back(&o);
  }
  if (tell.size() < kFewestOfPace) tell.clear();
  return tell;
}

// How much longer than on average over the sides the operation in the middle works, by run; its
// logarithm. Requires: some tell.
Both<std::vector<double>> PacesOf(const std::vector<const Operation*>& tell) {
  const auto paces = [&](Figures Both<Figures>::*side) {
    std::vector<double> paces;
    for (size_t r = 0; r < (tell.front()->figures.*side).size(); ++r) {
      std::vector<double> logs;
      for (const Operation* o : tell) {
        const double usual = std::log(WorksOf(o->figures.a)) + std::log(WorksOf(o->figures.b));
        logs.push_back(std::log((o->figures.*side)[r].works_ns()) - usual / 2);
      }
      paces.push_back(analyze::MiddleOf(std::move(logs)));
    }
    return paces;
  };
  return {paces(&Both<Figures>::a), paces(&Both<Figures>::b)};
}

// Half of the 95 % interval of how far the pace of `one` lies from `pace`, in logarithms: as far as
// that of the others that tell (null: of all), without those farthest away, which may have changed;
// beyond what is known of their figures before.
double ApartFrom(double pace, const std::vector<const Operation*>& tell, const Operation* one) {
  std::vector<double> distances, known;
  for (const Operation* o : tell) {
    if (o == one) continue;
    double change = 0, variance = 0;
    for (const Figures* side : {&o->figures.a, &o->figures.b}) {
      const auto runs = static_cast<double>(side->size());
      for (const Figure& f : *side) {
        change += (side == &o->figures.b ? 1 : -1) * std::log(f.works_ns()) / runs;
        variance += std::pow(std::hypot(kLayoutSpread, f.log_error) / runs, 2);
      }
    }
    distances.push_back(std::abs(change - pace));
    known.push_back(variance);
  }
  std::sort(distances.begin(), distances.end());
  const auto all = static_cast<double>(distances.size()), n = static_cast<double>(tell.size());
  const double kept = n - std::floor((one == nullptr ? kFewChange : kMayChange) * n);
  double squares = 0;
  for (size_t i = 0; i < static_cast<size_t>(kept); ++i) squares += distances[i] * distances[i];
  // The nearest of normal deviations are so much smaller than all of them.
  const double seen = squares / kept / std::pow(kept / all, 3.4);
  const double beyond = std::max(seen - analyze::MiddleOf(known), 0.0);
  return analyze::StudentFactor(kept * kept / all) * std::sqrt(beyond * (1 + M_PI_2 / n));
}

struct Pace {
  double change = 0;  // logarithm of B's pace / A's
  double half = 0;    // of its 95 % interval, as far as it differs from run to run
  double range = 0;   // from the fastest run of all to the slowest
};

Pace ComparePaces(const Both<std::vector<double>>& paces) {
  const auto mean = [](const std::vector<double>& side) {
    double sum = 0;
    for (const double pace : side) sum += pace;
    return sum / static_cast<double>(side.size());
  };
  const auto seen = [&](const std::vector<double>& side) {
    double squares = 0;
    for (const double pace : side) squares += std::pow(pace - mean(side), 2);
    return squares;
  };
  const auto runs_a = static_cast<double>(paces.a.size());
  const auto runs_b = static_cast<double>(paces.b.size());
  const double change = mean(paces.b) - mean(paces.a);
  const double freedom = kKnownBefore + runs_a + runs_b - 2;
  double variance =
      (kKnownBefore * kLayoutSpread * kLayoutSpread + seen(paces.a) + seen(paces.b)) / freedom;
  // A single run may have had a pace of its own: then the change is all that is known of the
  // spread.
  if (std::min(runs_a, runs_b) < 2) variance = change * change / 2;
  const double error = std::sqrt(variance * (1 / runs_a + 1 / runs_b));
  const auto [low_a, high_a] = std::minmax_element(paces.a.begin(), paces.a.end());
  const auto [low_b, high_b] = std::minmax_element(paces.b.begin(), paces.b.end());
  return {change, analyze::StudentFactor(freedom) * error,
          std::max(*high_a, *high_b) - std::min(*low_a, *low_b)};
}

// The figures at the pace that A has on average. Work follows the pace, waiting does not.
Figures AtPace(Figures figures, const std::vector<double>& paces, double of_a) {
  for (size_t r = 0; r < figures.size() && r < paces.size(); ++r) {
    const double factor = std::exp(of_a - paces[r]);
    figures[r].ns = figures[r].waits_ns + factor * figures[r].works_ns();
    figures[r].error *= factor;
  }
  return figures;
}

}  // namespace

double OperationChange::least_growth() const {
  return (own.ns() - kSurely * (own.ns() - own.low)) / own.a;
}

double GrowthOfNew(const StepChange& change) {
  double ns = 0, below = 0;
  bool any = false;
  for (const OperationChange& o : change.operations) {
    if (!o.stands_out || (!o.is_new() && o.own.ns() > 0)) continue;
    any |= o.is_new();
    ns += o.own.ns();
    below = std::hypot(below, o.own.ns() - o.own.low);
  }
  return any ? (ns - OperationChange::kSurely * below) / change.step.a : -1;
}

size_t RunsToTell(const StepChange& change, double difference) {
  const auto factor = [](double a, double b) {
    return analyze::StudentFactor(kKnownBefore + a + b - 2) * std::sqrt(1 / a + 1 / b);
  };
  const auto a = static_cast<double>(change.runs_a), b = static_cast<double>(change.runs_b);
  const double half = (change.step.high - change.step.low) / 2 / change.step.a;
  for (size_t runs = 2; runs <= kMostRuns; ++runs) {
    const auto n = static_cast<double>(runs);
    if (half / factor(a, b) * factor(n, n) <= difference) return runs;
  }
  return 0;
}

StepChange CompareSteps(const std::vector<Undisturbed>& a, const std::vector<Undisturbed>& b) {
  StepChange out;
  out.runs_a = a.size(), out.runs_b = b.size();
  const Both<Figures> steps = StepFigures(a, b);
  const std::vector<Operation> operations = OperationsOf(a, b);
  out.step = CompareFigures(steps, kPaceSpread);
  const std::vector<const Operation*> tell = Telling(operations, out.step);
  Both<std::vector<double>> paces;
  Pace pace;
  double of_a = 0;
  if (!tell.empty()) {
    paces = PacesOf(tell);
    pace = ComparePaces(paces);
    out.pace_known = pace.range >= ApartFrom(pace.change, tell, nullptr);
    out.paces_differ = !out.pace_known && pace.range > kLayoutSpread;
    if (!out.pace_known) paces = {};
    for (const double p : paces.a) of_a += p / static_cast<double>(paces.a.size());
  }
  if (out.pace_known) out.pace = std::exp(pace.change);
  const double spread = tell.empty() ? kPaceSpread : kLayoutSpread;
  const double least = kLeastOfStep * std::min(out.step.a, out.step.b);
  Reach reach;
  for (const Operation& o : operations) {
    const Both<Figures> own = {AtPace(o.figures.a, paces.a, of_a),
                               AtPace(o.figures.b, paces.b, of_a)};
    const Change figures = CompareFigures(own, spread);
    // What it does on both sides may have had a pace of its own.
    const double apart = tell.empty() ? 0 : ApartFrom(std::log(out.pace), tell, &o);
    const double of_own = std::expm1(std::min(apart, kMostLog)) *
                          std::max(std::min(WorksOf(own.a), WorksOf(own.b)), 0.0);
    OperationChange change{o.name, CompareFigures(o.figures, spread), Wider(figures, of_own)};
    change.stands_out =
        Wider(figures, OperationChange::kSurely * of_own).told() && std::abs(figures.ns()) > least;
    if (!tell.empty()) {
      const double of_pace = pace.half * change.change.a;
      SetReach(Combine(ReachOf(change.own), {of_pace, of_pace}), &change.change);
    }
    reach = Combine(reach, ReachOf(figures));
    out.operations.push_back(change);
  }
  if (!tell.empty()) {
    const double of_pace = pace.half * out.step.a;
    SetReach(Combine(reach, {of_pace, of_pace}), &out.step);
  }
  return out;
}

}  // namespace crosscut::compare
