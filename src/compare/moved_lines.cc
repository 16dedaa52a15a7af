#include "src/compare/moved_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

namespace crosscut::compare {
namespace {

struct Line {
  std::string text;
  double ns = 0;
};
using Lines = std::map<int64_t, Line>;  // of a function, by number

// By file and name; what is no line is a function of its own.
using Function = std::pair<std::string, std::string>;
using Functions = std::map<Function, Lines>;

// Splits "data/loader.py:41 Loader.next"; a file's name may hold anything.
std::pair<Function, int64_t> Parse(const std::string& text) {
  for (size_t colon = text.rfind(':'); colon != text.npos && colon > 0;
       colon = text.rfind(':', colon - 1)) {
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data() + colon + 1, end, number);
    if (error == std::errc() && at != end && *at == ' ') {
      return {{text.substr(0, colon), std::string(at + 1, end)}, number};
    }
  }
  return {{text, ""}, 0};
}

Functions FunctionsOf(const std::map<std::string, double>& ns) {
  Functions out;
  for (const auto& [text, of] : ns) {
    const auto [function, number] = Parse(text);
    const bool fresh = out[function].emplace(number, Line{text, of}).second;
    if (!fresh) out[{text, ""}].emplace(0, Line{text, of});  // "041" beside "41"
  }
  return out;
}

double SumOf(const Lines& lines) {
  double sum = 0;
  for (const auto& [number, line] : lines) sum += line.ns;
  return sum;
}

// Which lines are the same, and by how much their times differ then.
struct Match {
  std::vector<SameLine> lines;
  double differ = 0;

  void Add(const Line* a, const Line* b) {
    lines.push_back({a == nullptr ? "" : a->text, b == nullptr ? "" : b->text});
    differ += std::abs((a == nullptr ? 0 : a->ns) - (b == nullptr ? 0 : b->ns));
  }
};

Match ByNumber(const Lines& a, const Lines& b) {
  Match out;
  for (const auto& [number, line] : a) {
    const auto same = b.find(number);
    out.Add(&line, same == b.end() ? nullptr : &same->second);
  }
  for (const auto& [number, line] : b) {
    if (!a.contains(number)) out.Add(nullptr, &line);
  }
  return out;
}

// With the least difference of times.
Match InOrder(const Lines& a, const Lines& b) {
  std::vector<const Line*> of_a, of_b;
  for (const auto& [number, line] : a) of_a.push_back(&line);
  for (const auto& [number, line] : b) of_b.push_back(&line);
  // least[i][j]: of the lines of A from i on and of B from j on.
  const size_t columns = of_b.size() + 1;
  std::vector<double> least((of_a.size() + 1) * columns);
  const auto at = [&](size_t i, size_t j) -> double& { return least[i * columns + j]; };
  const auto together = [&](size_t i, size_t j) {
    return std::abs(of_a[i]->ns - of_b[j]->ns) + at(i + 1, j + 1);
  };
  for (size_t i = of_a.size() + 1; i-- > 0;) {
    for (size_t j = columns; j-- > 0;) {
      const bool in_a = i < of_a.size(), in_b = j < of_b.size();
      if (!in_a && !in_b) continue;
      double best = INFINITY;
      if (in_a) best = of_a[i]->ns + at(i + 1, j);
      if (in_b) best = std::min(best, of_b[j]->ns + at(i, j + 1));
      if (in_a && in_b) best = std::min(best, together(i, j));
      at(i, j) = best;
    }
  }
  Match out;
  for (size_t i = 0, j = 0; i < of_a.size() || j < of_b.size();) {
    const bool in_a = i < of_a.size(), in_b = j < of_b.size();
    if (in_a && in_b && together(i, j) <= at(i, j)) {
      out.Add(of_a[i++], of_b[j++]);
    } else if (in_a && of_a[i]->ns + at(i + 1, j) <= at(i, j)) {
      out.Add(of_a[i++], nullptr);
    } else {
      out.Add(nullptr, of_b[j++]);
    }
  }
  return out;
}

std::vector<SameLine> MatchFunction(const Lines& a, const Lines& b) {
  Match by_number = ByNumber(a, b);
  if (std::max(a.size(), b.size()) > kMostMoved) return by_number.lines;
  Match in_order = InOrder(a, b);
  return (2 * in_order.differ < by_number.differ ? in_order : by_number).lines;
}

// What a function of A is called in B, of those that the other side lacks; the most alike first.
std::map<Function, Function> OtherNames(const Functions& a, const Functions& b) {
  struct Pair {
    double unlike;
    Function a, b;
  };
  std::vector<Pair> pairs;
  for (const auto& [gone, lines] : a) {
    if (b.contains(gone)) continue;
    for (const auto& [fresh, of] : b) {
      const bool alike = gone.first == fresh.first || gone.second == fresh.second;
      if (!alike || gone.second.empty() || fresh.second.empty() || a.contains(fresh)) continue;
      const double unlike = std::abs(std::log(SumOf(of) / SumOf(lines)));
      if (unlike <= std::log(kOtherName)) pairs.push_back({unlike, gone, fresh});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& x, const Pair& y) { return x.unlike < y.unlike; });
  std::map<Function, Function> out, taken;
  for (const Pair& pair : pairs) {
    if (out.contains(pair.a) || taken.contains(pair.b)) continue;
    out[pair.a] = pair.b;
    taken[pair.b] = pair.a;
  }
  return out;
}

}  // namespace

std::vector<SameLine> MatchLines(const Both<std::map<std::string, double>>& ns) {
  const Functions a = FunctionsOf(ns.a);
  Functions b = FunctionsOf(ns.b);
  const std::map<Function, Function> others = OtherNames(a, b);
  std::vector<SameLine> out;
  for (const auto& [function, lines] : a) {
    const auto other = others.find(function);
    const auto of_b = b.extract(other == others.end() ? function : other->second);
    for (SameLine& line : MatchFunction(lines, of_b.empty() ? Lines() : of_b.mapped())) {
      out.push_back(std::move(line));
    }
  }
  for (const auto& [function, lines] : b) {
    for (const auto& [number, line] : lines) out.push_back({"", line.text});
  }
  return out;
}

}  // namespace crosscut::compare
