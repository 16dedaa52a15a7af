#include "src/analyze/accounting/wander.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "src/analyze/quantiles.h"

namespace crosscut::analyze {
namespace {

using Values = std::vector<double>;

// Of a kind's steps, at either end: single steps that met with much.
constexpr size_t kTailPercent = 5;
// Differences between parts beyond so many times their median are the program's own: it learned to
// play longer games, say. What cutting them off takes from differences that are normal is put back.
constexpr double kMostOfMedian = 2, kNormal = 1.21;

struct Kind {
  uint8_t level = 0;                    // that most of its steps have
  double usual = 0, low = 0, high = 0;  // logarithms of lengths
};

double LogLength(const StepSample& s) { return std::log(static_cast<double>(s.ns)); }

std::map<uint32_t, Kind> KindsOf(const std::vector<StepSample>& steps) {
  std::map<uint32_t, std::map<uint8_t, Values>> lengths;
  for (const StepSample& s : steps) {
    if (s.counts && s.level != 0) lengths[s.kind][s.level].push_back(LogLength(s));
  }
  std::map<uint32_t, Kind> kinds;
  for (auto& [kind, levels] : lengths) {
    const auto most = std::max_element(levels.begin(), levels.end(), [](auto& a, auto& b) {
      return a.second.size() < b.second.size();
    });
    const Values& of = most->second;
    kinds[kind] = {most->first, Quantile(of, 50), Quantile(of, kTailPercent),
                   Quantile(of, 100 - kTailPercent)};
  }
  return kinds;
}

// How much longer than usual steps took, on a logarithmic scale; weighs by how long that is.
struct Pace {
  double away = 0, weight = 0;
};

Pace PaceOf(const StepSample& s, const std::map<uint32_t, Kind>& kinds) {
  const auto found = kinds.find(s.kind);
  if (!s.counts || found == kinds.end() || found->second.level != s.level) return {};
  const Kind& kind = found->second;
  return {std::clamp(LogLength(s), kind.low, kind.high) - kind.usual, std::exp(kind.usual)};
}

// Of parts of the run that would be equally long at the usual pace.
std::array<double, kWanderParts> PaceOfParts(const std::vector<Pace>& paces) {
  double total = 0, until = 0;
  for (const Pace& p : paces) total += p.weight;
  std::array<Pace, kWanderParts> parts;
  for (const Pace& p : paces) {
    const auto part = static_cast<size_t>(until / total * kWanderParts);
    until += p.weight;
    Pace& sum = parts[std::min<size_t>(part, kWanderParts - 1)];
    sum.away += p.weight * p.away;
    sum.weight += p.weight;
  }
  std::array<double, kWanderParts> out;
  for (size_t i = 0; i < kWanderParts; ++i) {
    out[i] = parts[i].weight > 0 ? parts[i].away / parts[i].weight : 0;
  }
  return out;
}

}  // namespace

double Wander(const std::vector<StepSample>& steps) {
  const std::map<uint32_t, Kind> kinds = KindsOf(steps);
  std::vector<Pace> paces;
  for (const StepSample& s : steps) {
    if (const Pace p = PaceOf(s, kinds); p.weight > 0) paces.push_back(p);
  }
  if (paces.size() < kFewestForWander) return 0;
  const std::array<double, kWanderParts> pace = PaceOfParts(paces);
  Values differences;
  for (size_t i = 1; i < pace.size(); ++i) differences.push_back(pace[i] - pace[i - 1]);
  Values sizes = differences;
  const double trend = Quantile(sizes, 50);
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::abs(differences[i] - trend);
  const double most = kMostOfMedian * Quantile(sizes, 50);
  double squares = 0;
  for (const double size : sizes) squares += std::min(size, most) * std::min(size, most);
  return kNormal * std::sqrt(squares / (2 * static_cast<double>(sizes.size())));
}

}  // namespace crosscut::analyze
