#include "src/compare/document.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>

#include "src/base/shown_text.h"
#include "src/report/cells.h"
#include "src/report/numbers.h"
#include "src/report/shown_text.h"

namespace crosscut::compare {
namespace {

using analyze::kMissing;
using report::Cells;
using report::Section;

std::string Time(int64_t ns) { return ns == kMissing ? "-" : report::FormatNs(ns); }

std::string Signed(int64_t ns) {
  if (ns == kMissing) return "-";
  return (ns < 0 ? "-" : ns > 0 ? "+" : "") + report::FormatNs(std::abs(ns));
}

std::string Operation(std::string_view name) {
  return name.empty() ? "(no operation)" : base::ShownText(name);
}

// With the word for what one side lacks.
std::string ToldOperation(const Cells& operations, size_t row) {
  const std::string_view name = operations.Text("operation", row),
                         found = operations.Text("found", row);
  const char* told = found == "B" ? " (new)" : found == "A" ? " (gone)" : "";
  return Operation(name) + (name.empty() ? "" : told);
}

constexpr const char* kTimes[] = {"a_ns", "b_ns", "change_ns", "change_undisturbed_ns"};

constexpr const char* kStepTitles[] = {
    "A", "B", "change", "undisturbed", "by itself", "95 %: at least", "at most"};

// The cells of a row of a step's times behind its name. An operation's interval is that of what it
// changed by itself.
std::vector<std::string> TimeRow(const std::string& name, const Cells& table, size_t row) {
  const bool operation = table.Has("own_ns");
  std::vector<std::string> out = {name, Time(table.Int("a_ns", row)), Time(table.Int("b_ns", row))};
  for (const char* column :
       {"change_ns", "change_undisturbed_ns", "own_ns", operation ? "own_low_ns" : "low_ns",
        operation ? "own_high_ns" : "high_ns"}) {
    out.push_back(Signed(table.Int(column, row)));
  }
  return out;
}

report::Grid StepGrid(const char* rows) {
  report::Grid grid;
  grid.heads = {{rows, false}};
  for (const char* title : kStepTitles) grid.heads.push_back({title});
  return grid;
}

// Leaves what is recorded of a step, where nothing else is known.
void KeepRecorded(report::Grid* grid) {
  constexpr size_t kRecorded = 4;  // name, A, B, change
  grid->heads.resize(kRecorded);
  for (std::vector<std::string>& row : grid->rows) row.resize(kRecorded);
}

// A process and a kind of its steps.
struct Steps {
  Steps(const Cells& table, size_t row)
      : process(table.Text("process", row)), kind(table.Text("kind", row)) {}
  bool Have(const Cells& table, size_t row) const {
    return table.Text("process", row) == process && table.Text("kind", row) == kind;
  }
  std::string_view process, kind;
};

// "train.py", "train.py, evaluate" where it has several kinds of steps.
std::string TitleOf(const Cells& steps, const Steps& of) {
  size_t kinds = 0;
  for (size_t row = 0; row < steps.rows(); ++row) kinds += steps.Text("process", row) == of.process;
  const std::string process = base::ShownText(of.process);
  return kinds > 1 ? process + ", " + base::ShownText(of.kind) : process;
}

// What a mean step has beyond an undisturbed one, without Crosscut's cost, on either side.
Both<int64_t> Beyond(const Cells& times, size_t row) {
  return {times.Int("a_corrected_ns", row) - times.Int("a_undisturbed_ns", row),
          times.Int("b_corrected_ns", row) - times.Int("b_undisturbed_ns", row)};
}

// Where steps took much longer than undisturbed ones: why their means say little, and where it is.
std::string BusyText(const Cells& steps, const Cells& operations) {
  constexpr double kMuch = 1.25;
  if (steps.Int("low_ns", 0) == kMissing) return "";
  const auto ratio = [&](const char* mean, const char* undisturbed) {
    return static_cast<double>(steps.Int(mean, 0)) / static_cast<double>(steps.Int(undisturbed, 0));
  };
  const double a = ratio("a_corrected_ns", "a_undisturbed_ns");
  const double b = ratio("b_corrected_ns", "b_undisturbed_ns");
  if (!(std::max(a, b) > kMuch)) return "";
  char text[200];
  snprintf(text, sizeof text,
           "The mean step took %.2f (A) and %.2f times (B) what it takes undisturbed: the machine "
           "was busy, or some steps do more. The answer does not rest on the means.",
           a, b);
  const Both<int64_t> whole = Beyond(steps, 0);
  size_t most = 0;
  int64_t grew = 0;
  for (size_t row = 0; row < operations.rows(); ++row) {
    if (!Steps(steps, 0).Have(operations, row)) continue;
    const Both<int64_t> beyond = Beyond(operations, row);
    if (std::abs(beyond.b - beyond.a) > std::abs(grew)) grew = beyond.b - beyond.a, most = row;
  }
  const int64_t all = whole.b - whole.a;
  const bool same_way = all != 0 && grew != 0 && (all > 0) == (grew > 0);
  if (!same_way || 3 * std::abs(grew) < 2 * std::abs(all)) return text;
  return text + (" Of what B has " + std::string(all > 0 ? "more" : "less") +
                 " beyond undisturbed steps (" + Signed(all) + "), " + Signed(grew) + " is in " +
                 Operation(operations.Text("operation", most)) + ".");
}

// Rows of these steps: those that stand out, then those with the largest change.
std::vector<size_t> ByChange(const Cells& operations, const Steps& of) {
  std::vector<size_t> order;
  for (size_t row = 0; row < operations.rows(); ++row) {
    if (of.Have(operations, row)) order.push_back(row);
  }
  const bool compared = !order.empty() && operations.Int("low_ns", order[0]) != kMissing;
  const char* by = compared ? "change_undisturbed_ns" : "change_ns";
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    const auto key = [&](size_t row) {
      const int64_t ns = operations.Int(by, row);
      return std::pair(operations.Int("stands_out", row), ns == kMissing ? 0 : std::abs(ns));
    };
    return key(x) > key(y);
  });
  return order;
}

// "5", or "3 to 7" where steps differ.
std::string PerStep(const Cells& counts, size_t row, const char* low, const char* high) {
  const int64_t least = counts.Int(low, row), most = counts.Int(high, row);
  const std::string text = report::FormatCount(least);
  return least == most ? text : text + " to " + report::FormatCount(most);
}

// "loop.py:9 burn, +300.0 µs (...)": the line of an operation that holds most of its change; likely
// where samples leave open whether it changed. Where A has it at another place, with that.
std::string LineText(const Cells& lines, const Steps& of, std::string_view operation,
                     int64_t change_ns) {
  for (size_t row = 0; row < lines.rows(); ++row) {  // those that changed most first
    if (!of.Have(lines, row) || lines.Text("operation", row) != operation) continue;
    const int64_t ns = lines.Int("change_ns", row);
    if ((ns > 0) != (change_ns > 0) || 2 * std::abs(ns) < std::abs(change_ns)) continue;
    const bool told = lines.Int("low_ns", row) > 0 || lines.Int("high_ns", row) < 0;
    const std::string_view in_a = lines.Text("a_line", row);
    return (told ? "" : "likely ") + base::ShownText(lines.Text("line", row)) +
           (in_a.empty() ? "" : " (A: " + base::ShownText(in_a) + ")") + ", " + Signed(ns) +
           " of the mean step (" + Signed(lines.Int("low_ns", row)) + " to " +
           Signed(lines.Int("high_ns", row)) + " by " +
           report::FormatCount(lines.Int("a_samples", row)) + " and " +
           report::FormatCount(lines.Int("b_samples", row)) + " samples)";
  }
  return "";
}

// "aten::cumsum, +520.1 µs (...)": the most special of the names that hold most of a change: of
// kernels, and of operators and functions that are called more or less often, which is a fact;
// the times of others differ from run to run. Those that call it hold it, too, and take longer.
std::string NameText(const Cells& names, const Steps& of, std::string_view operation,
                     int64_t change_ns) {
  std::optional<size_t> best;
  for (size_t row = 0; row < names.rows(); ++row) {
    const int64_t ns = names.Int("change_ns", row);
    if (!of.Have(names, row) || (ns > 0) != (change_ns > 0)) continue;
    if (names.Text("operation", row) != operation) continue;
    if (names.Int("changed", row) != 1 && names.Text("layer", row) != "device") continue;
    if (2 * std::abs(ns) < std::abs(change_ns) || std::abs(ns) > 2 * std::abs(change_ns)) continue;
    const auto takes = [&](size_t of) {
      return std::max(names.Int("a_ns", of), names.Int("b_ns", of));
    };
    if (!best || takes(row) < takes(*best)) best = row;
  }
  if (!best) return "";
  return base::ShownText(names.Text("name", *best)) + ", " + Signed(names.Int("change_ns", *best)) +
         " (" + PerStep(names, *best, "a_low", "a_high") + " and " +
         PerStep(names, *best, "b_low", "b_high") + " calls)";
}

// Where in the operations that stand out the change is, a sentence each.
void AddPlaces(const Comparison& c, const Cells& operations, const std::vector<size_t>& order,
               Section* section) {
  const Cells lines(c.Find("diff_step_lines")), names(c.Find("diff_step_names"));
  for (const size_t row : order) {
    if (operations.Int("stands_out", row) != 1) continue;
    const Steps of(operations, row);
    const std::string_view operation = operations.Text("operation", row);
    const int64_t change_ns = operations.Int("own_ns", row);
    const std::string line = LineText(lines, of, operation, change_ns);
    const std::string name = NameText(names, of, operation, change_ns);
    if (line.empty() && name.empty()) continue;
    section->after.push_back("In " + Operation(operation) + ": " + line +
                             (line.empty() || name.empty() ? "" : "; ") + name + ".");
  }
}

void AddSteps(const Comparison& c, const DocumentSize& size, report::Document* out) {
  const Cells steps(c.Find("diff_steps")), operations(c.Find("diff_step_operations"));
  if (steps.rows() == 0 || operations.rows() == 0) return;
  const Steps of(steps, 0);
  Section section;
  section.heading = "A step of " + TitleOf(steps, of);
  section.before = {
      "A, B, change: the mean step, as recorded; it adds up. Undisturbed: the change of the "
      "fastest "
      "tenth of each operation, without Crosscut's own cost. By itself: that at equal pace, "
      "where operations tell it, with its interval."};
  section.grid = StepGrid("operation");
  const std::vector<size_t> order = ByChange(operations, of);
  const size_t shown = order.size() > size.operations ? size.operations - 1 : order.size();
  for (size_t i = 0; i < shown; ++i) {
    section.grid.rows.push_back(TimeRow(ToldOperation(operations, order[i]), operations, order[i]));
  }
  if (shown < order.size()) {
    std::vector<std::string> others = {std::to_string(order.size() - shown) + " others"};
    for (const char* column : kTimes) {
      int64_t sum = 0;
      for (size_t i = shown; i < order.size(); ++i) {
        const int64_t ns = operations.Int(column, order[i]);
        sum = ns == kMissing || sum == kMissing ? kMissing : sum + ns;
      }
      others.push_back(others.size() < 3 ? Time(sum) : Signed(sum));
    }
    others.resize(section.grid.heads.size(), "-");
    section.grid.rows.push_back(std::move(others));
  }
  section.grid.rows.push_back(TimeRow("in all", steps, 0));
  section.grid.last_is_total = true;
  if (steps.Int("low_ns", 0) == kMissing) {
    section.before = {"The mean step, as recorded."};
    KeepRecorded(&section.grid);
  }
  AddPlaces(c, operations, order, &section);
  if (std::string busy = BusyText(steps, operations); !busy.empty())
    section.after.push_back(std::move(busy));
  out->sections.push_back(std::move(section));
}

void AddOtherSteps(const Comparison& c, const DocumentSize& size, report::Document* out) {
  const Cells steps(c.Find("diff_steps"));
  Section section;
  section.heading = "Other steps";
  section.grid = StepGrid("process");
  for (size_t row = 1; row < std::min(steps.rows(), size.processes + 1); ++row) {
    section.grid.rows.push_back(TimeRow(TitleOf(steps, Steps(steps, row)), steps, row));
  }
  if (section.grid.rows.empty()) return;
  for (size_t row = 1; row < std::min(steps.rows(), size.processes + 1); ++row) {
    const std::string why_not = base::ShownText(steps.Text("why_not", row));
    if (why_not.empty()) continue;
    section.after.push_back(TitleOf(steps, Steps(steps, row)) + " is not compared: " + why_not +
                            ".");
  }
  if (steps.rows() > size.processes + 1)
    section.after.emplace_back("All of them: table diff_steps.");
  out->sections.push_back(std::move(section));
}

// The same of whole runs, where there are no steps.
void AddWholeCounts(const Comparison& c, const DocumentSize& size, report::Document* out) {
  const Cells functions(c.Find("diff_functions"));
  Section section;
  section.heading = "Counts of the whole run that changed";
  section.grid.heads = {{"what", false}, {"A"}, {"B"}, {"change of time"}};
  size_t changed = 0;
  for (size_t row = 0; row < functions.rows(); ++row) {
    if (functions.Int("change_count", row) == 0 || ++changed > size.names) continue;
    section.grid.rows.push_back({base::ShownText(functions.Text("name", row)),
                                 report::FormatCount(functions.Int("a_count", row)),
                                 report::FormatCount(functions.Int("b_count", row)),
                                 Signed(functions.Int("change_total_ns", row))});
  }
  if (changed == 0) return;
  if (changed > size.names) {
    section.after = {std::to_string(changed - size.names) + " more names: table diff_functions."};
  }
  out->sections.push_back(std::move(section));
}

// What happens more or less often than before, which is a fact.
void AddCounts(const Comparison& c, const DocumentSize& size, report::Document* out) {
  const Cells things(c.Find("diff_step_counts")), names(c.Find("diff_step_names"));
  Section section;
  section.heading = "Counts per step that changed";
  section.grid.heads = {{"what", false}, {"A"}, {"B"}, {"change of time"}};
  const Cells steps(c.Find("diff_steps"));
  const bool several = steps.rows() > 1;
  if (several) section.grid.heads.insert(section.grid.heads.begin(), {"process", false});
  const auto add = [&](const Cells& counts, const char* what, size_t most) {
    size_t changed = 0;
    for (size_t row = 0; row < counts.rows(); ++row) {
      if (counts.Int("changed", row) != 1 || ++changed > most) continue;
      std::vector<std::string> cells = {
          base::ShownText(counts.Text(what, row)), PerStep(counts, row, "a_low", "a_high"),
          PerStep(counts, row, "b_low", "b_high"), Signed(counts.Int("change_ns", row))};
      if (several) cells.insert(cells.begin(), TitleOf(steps, Steps(counts, row)));
      section.grid.rows.push_back(std::move(cells));
    }
    return changed;
  };
  add(things, "what", things.rows());
  const size_t changed = add(names, "name", size.names);
  if (changed > size.names) {
    section.after.push_back(std::to_string(changed - size.names) +
                            " more names: table diff_step_names.");
  }
  if (section.grid.rows.empty()) {
    if (names.rows() == 0) return;
    section.heading = "Counts per step";
    section.grid = {};
    section.before = {
        "None changed: of no operator, launch, kernel, allocation or function that was recorded."};
  }
  out->sections.push_back(std::move(section));
}

// The window of the main process by part.
void AddWindow(const Comparison& c, report::Document* out) {
  const Cells parts(c.Find("diff_window")), steps(c.Find("diff_steps"));
  if (parts.rows() == 0) return;
  const std::string_view process =
      steps.rows() > 0 ? steps.Text("process", 0) : parts.Text("process", 0);
  std::vector<std::pair<std::string, Both<int64_t>>> sums;
  Both<int64_t> all;
  for (size_t row = 0; row < parts.rows(); ++row) {
    if (parts.Text("process", row) != process) continue;
    const std::string part(parts.Text("part", row));
    if (sums.empty() || sums.back().first != part) sums.push_back({part, {}});
    for (Both<int64_t>* sum : {&sums.back().second, &all}) {
      sum->a += parts.Int("a_ns", row);
      sum->b += parts.Int("b_ns", row);
    }
  }
  sums.push_back({"in all", all});
  Section section;
  section.heading = "The whole window of " + base::ShownText(process);
  section.grid.heads = {{"part", false}, {"A"}, {"B"}, {"change"}};
  for (const auto& [part, ns] : sums) {
    section.grid.rows.push_back({part, Time(ns.a), Time(ns.b), Signed(ns.b - ns.a)});
  }
  section.grid.last_is_total = true;
  out->sections.push_back(std::move(section));
}

// Processes that one side lacks.
void AddUnmatched(const Comparison& c, const DocumentSize& size, report::Document* out) {
  const Cells processes(c.Find("diff_processes"));
  Section section;
  section.heading = "Processes that one side lacks";
  section.grid.heads = {{"process", false}, {"A"}, {"B"}};
  size_t lacking = 0;
  for (size_t row = 0; row < processes.rows(); ++row) {
    const bool a = processes.Int("a_runs", row) > 0, b = processes.Int("b_runs", row) > 0;
    if (a && b) continue;
    if (++lacking > size.processes) continue;
    section.grid.rows.push_back({base::ShownText(processes.Text("process", row)),
                                 a ? Time(processes.Int("a_window_ns", row)) : "-",
                                 b ? Time(processes.Int("b_window_ns", row)) : "-"});
  }
  if (lacking == 0) return;
  if (lacking > size.processes) section.after = {"All of them: table diff_processes."};
  out->sections.push_back(std::move(section));
}

}  // namespace

report::Document MakeDocument(const Comparison& comparison, const DocumentSize& size) {
  report::Document out;
  out.headline = {report::CleanText(comparison.answer.headline, report::kMaxPageSentence)};
  out.title = base::ShownText(comparison.title);
  for (const std::string& difference : comparison.differences) {
    out.facts.emplace_back("Differs", report::CleanText(difference, report::kMaxPageSentence));
  }
  AddSteps(comparison, size, &out);
  AddOtherSteps(comparison, size, &out);
  const bool steps = comparison.Find("diff_steps")->rows() > 0;
  (steps ? AddCounts : AddWholeCounts)(comparison, size, &out);
  AddWindow(comparison, &out);
  AddUnmatched(comparison, size, &out);
  return out;
}

}  // namespace crosscut::compare
