#include "src/compare/renames.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "src/base/shown_text.h"
#include "src/report/numbers.h"

namespace crosscut::compare {
namespace {

using Layers = std::map<analyze::LayerSet, double>;

// What an undisturbed step of a side's runs spends in each layer, by operation.
std::map<std::string, Layers> LayersOf(const std::vector<RunSteps>& runs,
                                       const std::vector<Undisturbed>& undisturbed) {
  std::map<std::string, Layers> out;
  for (size_t r = 0; r < runs.size() && r < undisturbed.size(); ++r) {
    for (size_t k = 0; k < runs[r].keys.size(); ++k) {
      const StepKey& key = runs[r].keys[k];
      out[key.operation][key.layers] += std::max(0.0, undisturbed[r].by_key[k]);
    }
  }
  return out;
}

double SumOf(const Layers& layers) {
  double sum = 0;
  for (const auto& [layer, ns] : layers) sum += ns;
  return sum;
}

// The share of one's time that lies in layers in which the other's does not.
double OtherLayers(const Layers& a, const Layers& b) {
  const double of_a = SumOf(a), of_b = SumOf(b);
  if (of_a <= 0 || of_b <= 0) return 1;
  double common = 0;
  for (const auto& [layer, ns] : a) {
    const auto at = b.find(layer);
    if (at != b.end()) common += std::min(ns / of_a, at->second / of_b);
  }
  return 1 - common;
}

}  // namespace

std::vector<Rename> RenamesOf(const StepChange& change, const Both<std::vector<RunSteps>>& runs,
                              const Both<std::vector<Undisturbed>>& undisturbed) {
  const auto a = LayersOf(runs.a, undisturbed.a), b = LayersOf(runs.b, undisturbed.b);
  std::vector<std::pair<double, Rename>> found;  // with how unlike they are
  const double least = kLeastOfStep * std::min(change.step.a, change.step.b);
  for (const OperationChange& gone : change.operations) {
    if (gone.operation.empty() || b.contains(gone.operation) || gone.own.a < least) continue;
    for (const OperationChange& fresh : change.operations) {
      if (fresh.operation.empty() || a.contains(fresh.operation) || fresh.own.b < least) continue;
      const double factor = std::abs(std::log(fresh.own.b / gone.own.a));
      const double others = OtherLayers(a.at(gone.operation), b.at(fresh.operation));
      if (factor > std::log(kAsLong) || others > kOtherLayers) continue;
      found.push_back(
          {factor + others, {gone.operation, fresh.operation, gone.own.a, fresh.own.b}});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<Rename> out;
  std::set<std::string> taken_a, taken_b;
  for (auto& [unlike, rename] : found) {
    if (taken_a.contains(rename.a) || taken_b.contains(rename.b)) continue;
    taken_a.insert(rename.a);
    taken_b.insert(rename.b);
    out.push_back(std::move(rename));
  }
  return out;
}

std::string RenamesText(const std::vector<Rename>& renames) {
  std::string out;
  for (const Rename& rename : renames) {
    out += (out.empty() ? "Renamed? A's " : ", A's ") + base::ShownText(rename.a) + " (" +
           report::FormatNs(std::llround(rename.a_ns)) + " a step) may be B's " +
           base::ShownText(rename.b) + " (" + report::FormatNs(std::llround(rename.b_ns)) + ")";
  }
  return out.empty() ? out : out + ".";
}

}  // namespace crosscut::compare
