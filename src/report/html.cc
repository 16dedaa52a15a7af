#include "src/report/html.h"

#include <algorithm>
#include <iterator>

#include "src/report/html_headline.h"
#include "src/report/html_json.h"
#include "src/report/html_memory.h"
#include "src/report/html_processes.h"
#include "src/report/html_table.h"
#include "src/report/html_text.h"
#include "src/report/page_bundle.h"

namespace crosscut::report {
namespace {

using analyze::Table;

constexpr TableView kViews[] = {
    {"operations", "Operations",
     "What the program was doing, as it declared or as the adapters found. Host, overlap, device, "
     "idle, unknown and control add up to wall: overlap is time in which host and device worked "
     "at once, host and device are only one of them. Corrected is wall without Crosscut's cost.",
     "wall_ns", true},
    {"overlap", "Operations by layer",
     "One row for every set of layers that was active at the same instant during an operation. "
     "The rows of a process add up to its wall time, to the nanosecond.",
     "ns", false},
    {"functions", "Functions",
     "Spans by name. Self is the time in which nothing below ran; total includes what it called.",
     "self_ns", true},
    {"layers", "Layers",
     "The same without operations: one row for every set of layers active at the same instant.",
     "ns", false},
    {"layer_totals", "Layer by layer",
     "How long each layer was active at all. Layers overlap, so these add up to more than wall.",
     "ns", false},
    {"concurrency", "Processes at once",
     "How long each set of processes was busy at the same instant, on host and devices.", "ns",
     false},
    {"phases", "Phases",
     "Each process's window, cut at its phases. Host, overlap, device, idle, unknown and control "
     "add up to wall; any host and any device overlap.",
     nullptr, false},
    {"utilization", "What processes took over time",
     "CPU (100 % is one core), resident memory and devices of each process, from half second to "
     "half second.",
     nullptr, false},
    {"metrics", "Metrics",
     "Each instant in one class, the first that matches: a device is busy (GPU), its runtime is "
     "called (CUDA C++), other native code (framework C++), Python, other. docs/rl-metrics.md.",
     "total_ns", false},
    {"corrected_metrics", "Metrics without Crosscut's own cost", "The same of the corrected times.",
     "total_ns", false},
    {"step_metric_spread", "Metrics per step",
     "How each metric spreads over the recorded steps of a kind, in its own unit.", nullptr, false},
    {"progress", "The whole program",
     "What it would take to its end, from what the program told of its progress.", nullptr, false},
    {"venn", "Sets that overlap in time",
     "Time in exactly these members, and in at least these; of layers, and of host and device.",
     nullptr, false},
    {"threads", "Threads",
     "Time by thread, each with its own innermost operation and layer. The rows of a thread "
     "add up to its observed life.",
     "ns", false},
    {"thread_lives", "Threads' lives", "When each thread was observed.", nullptr, false},
    {"device_by_launch", "Device time by launch",
     "Busy time of devices by the operation that enqueued the work, not by the one that was open "
     "while it ran.",
     "ns", false},
    {"findings", "What stands out", "Sentences, each with the table that it comes from.", nullptr,
     false},
    {"device_timeline", "Devices: what they did",
     "From the first work on a process's devices to the last: computing; communication and copies "
     "that no computation hid; nothing at all.",
     nullptr, false},
    {"temporal_breakdown", "Devices: computing, busy, idle",
     "The same in three parts: some kernel computed, only other work went on, nothing did.",
     nullptr, false},
    {"device_utilization", "Devices: busy, and seen busy",
     "Busy time of the window, beside the share of samples in which anything ran, as tools that "
     "sample show it: short work that comes often looks like a full device.",
     nullptr, false},
    {"kernel_types", "Devices: types of work at once",
     "One row for every set of types that went on at the same instant.", "ns", false},
    {"comm_overlap", "Devices: hidden communication",
     "Time in which something communicated, and the part of it in which something computed.",
     nullptr, false},
    {"idle_causes", "Why streams were idle",
     "Gaps between the work of one stream. host_wait: the next work was launched after the gap had "
     "begun; kernel_wait: a gap below 30 µs between work already launched; other: a longer one.",
     "total_ns", false},
    {"kernels", "Kernels", "Work on devices by name.", "total_ns", true},
    {"launches", "Launches",
     "Calls that launched work. Delay is from the call's end to the work's begin; short: the work "
     "took less time than the call; slow: a call above 50 µs; late: a delay above 100 µs.",
     "host_ns", false},
    {"queue_length", "Queues", "Launches that waited for their stream, averaged over time.",
     nullptr, false},
    {"copies", "Copies and memory sets", "By kind, with their bandwidth.", "total_ns", false},
    {"sequences", "Sequences of kernels",
     "Operators that launch three pieces of work or more, by what they launch.", "device_ns",
     false},
    {"stragglers", "Stragglers",
     "Collectives end together, so who is in one for the shortest time came last; the rest of the "
     "others' time was waiting for it.",
     nullptr, false},
    {"critical_path", "Critical path",
     "What the end of each process hung on, walked backwards from it: adds up to the window.", "ns",
     false},
    {"operators", "Operators by their inputs",
     "Shapes where they were recorded (--shapes); FLOPs of all calls, by the formulas that the "
     "documentation states.",
     "self_ns", true},
    {"samples", "What threads were seen doing",
     "From looks at every thread now and then: the Python line that ran, the native function that "
     "it ran, or what the thread waited for. Each sample stands for the time since the one before.",
     "ns", true},
    {"modules", "Modules",
     "Calls of each module of a network, less those of the modules that it calls (self), and the "
     "backward time that its operators caused.",
     "self_ns", true},
    {"backward", "Backward, by what caused it",
     "Time in autograd's nodes by the forward operator that made them, and where that ran. Without "
     "an operator: gradients that are added up.",
     "backward_ns", true},
    {"memory", "Memory", "What was allocated and freed, and the most that was held at once.",
     nullptr, false},
    {"memory_peak", "Memory: what was held at the peak",
     "By the operation, operator and module that allocated it. The rows of a process and device "
     "add up to the peak.",
     "bytes", false},
    {"memory_operators", "Memory by operator",
     "Self is what the operator allocated itself less what it freed; total includes what it "
     "called.",
     "allocated_bytes", false},
    {"memory_leaks", "Memory: what stays",
     "Blocks allocated in a step and still held at the end of the step after the next. What is "
     "made once, such as an optimizer's state, leaks in one step; what grows, in all of them.",
     "bytes", false},
    {"memory_failures", "Memory: out of memory", "Allocations that failed, with what was held.",
     nullptr, false},
    {"memory_timeline", "Memory over time", "What was held, in equal parts of each window.",
     nullptr, false},
    {"outliers", "Slow steps",
     "Steps that took unusually long, against the median of their kind, and the set of layers "
     "that grew most against its own median.",
     "wall_ns", false},
    {"steps", "Steps", "One pass of the main loop each. In control steps the probes are off.",
     nullptr, false},
    {"step_summary", "Kinds of steps",
     "Steps of one kind together; control steps are counted and are in no time here.", nullptr,
     false},
    {"step_kinds", "Steps that are alike",
     "Steps of one kind may hold different work: the first ones warm up, some are longer. How many "
     "of each there were, and how many at each level of the step plan.",
     nullptr, false},
    {"step_operators", "What a step is made of",
     "Per step, from the steps that were recorded at a level which shows the name; low to high is "
     "where a complete recording's time per step would lie (95 %).",
     "self_per_step_ns", false},
    {"step_layers", "Steps by layer", "What each step was made of, by set of layers.", nullptr,
     false},
    {"processes", "Processes", "Every process of the run, with the window that was recorded.",
     nullptr, false},
    {"overhead", "What Crosscut itself cost",
     "Each kind of probe: how often it fired and the time that took, inside and outside its "
     "spans, with the interval of the total. Subtracted is the part that delayed the program.",
     "total_ns", false},
    {"overhead_check", "Control steps",
     "The same steps with and without the probes: inflation is profiled by control steps, scale "
     "is what the calibrated costs are multiplied with.",
     nullptr, false},
    {"overhead_levels", "Levels of the step plan",
     "Steps of each level against control steps; all: what recording cost the steps on average.",
     nullptr, false},
    {"drops", "What was lost", "Events that are missing, where and why.", nullptr, false},
    {"sources", "Sources", "Where spans came from, and whether each source worked.", nullptr,
     false},
    {"clocks", "Clocks", "How times were brought on one clock, and the largest error of that.",
     nullptr, false},
};

constexpr char kGapsTable[] = "gaps";  // stands on top of the page

const TableView* FindView(const std::string& name) {
  const auto found = std::find_if(std::begin(kViews), std::end(kViews),
                                  [&](const TableView& v) { return name == v.name; });
  return found == std::end(kViews) ? nullptr : found;
}

std::string HeadHtml(const ReportData& data) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src '";
  out += kPageScriptHash;
  out += "'; style-src '";
  out += kPageStyleHash;
  out +=
      "'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>";
  out += EscapeHtml(data.title.empty() ? "Crosscut" : data.title + " – Crosscut");
  out += "</title>\n<style>";
  out += kPageStyle;
  return out + "</style></head>\n";
}

std::string GapsHtml(const std::vector<std::string>& gaps) {
  if (gaps.empty()) {
    return "<p class=\"whole\">Nothing is known to be missing from this recording.</p>\n";
  }
  std::string out =
      "<section class=\"gaps\" aria-label=\"What is missing\"><h2>Know this first</h2><ul>";
  constexpr size_t kShown = 6;  // the most serious stand first; the rest is folded
  const size_t shown = gaps.size() > kShown + 2 ? kShown : gaps.size();
  const size_t last = std::min(gaps.size(), size_t{500});
  for (size_t i = 0; i < last; ++i) {
    if (i == shown) {
      out += "</ul><details><summary>" + FormatCount(static_cast<int64_t>(gaps.size() - shown)) +
             " more</summary><ul>";
    }
    out += "<li>" + EscapeHtml(gaps[i], kMaxPageSentence) + "</li>";
  }
  if (last < gaps.size()) {
    out += "<li>… all of them: <code>crosscut table RUN gaps</code></li>";
  }
  return out + (shown < gaps.size() ? "</ul></details></section>\n" : "</ul></section>\n");
}

std::string TitleHtml(const ReportData& data) {
  std::string out = "<header class=\"top\"><p class=\"brand\">Crosscut</p><h1>" +
                    EscapeHtml(data.title.empty() ? "A recorded run" : data.title) + "</h1>";
  if (!data.facts.empty()) {
    out += "<dl class=\"facts\">";
    for (const auto& [name, value] : data.facts) {
      out += "<div><dt>" + EscapeHtml(name) + "</dt><dd>" + EscapeHtml(value) + "</dd></div>";
    }
    out += "</dl>";
  }
  return out + "</header>\n";
}

std::string CellsLeftOut(const ReportData& data) {
  const Table* overlap = data.Find("overlap");
  if (overlap == nullptr || overlap->rows() <= kMaxPageCells) return "";
  return "<p class=\"note\">The bars are made of the " +
         FormatCount(static_cast<int64_t>(kMaxPageCells)) + " largest of " +
         FormatCount(static_cast<int64_t>(overlap->rows())) +
         " cells; <code>crosscut table RUN overlap</code> has all of them.</p>";
}

std::string ChartsHtml(const ReportData& data) {
  std::string out =
      "<noscript><p class=\"note\">The charts need scripts; every number stands in the tables "
      "below.</p></noscript>\n<section id=\"time\" class=\"chart\" hidden>"
      "<h2>Where the time went</h2>" +
      CellsLeftOut(data) + "</section>\n";
  if (!data.timeline.processes.empty()) {
    out += "<section id=\"timeline\" class=\"chart\" hidden><h2>Timeline</h2></section>\n";
  }
  out += ProcessesHtml({data.Find("phases"), data.Find("processes"), data.Find("utilization")},
                       PageOrigin(data));
  out += MemoryHtml(data.Find("memory_timeline"), PageOrigin(data));
  return out + "<section id=\"pace\" class=\"chart\" hidden><h2>Steps over time</h2></section>\n";
}

std::string TablesHtml(const ReportData& data) {
  const int64_t origin = PageOrigin(data);
  std::string out = "<section id=\"tables\"><h2>Tables</h2>\n<div class=\"cards\">\n";
  for (const TableView& view : kViews) {
    if (const Table* table = data.Find(view.name)) out += TableHtml(*table, view, origin);
  }
  for (const Table& table : data.tables) {
    if (FindView(table.name) != nullptr || table.name == kGapsTable) continue;
    out += TableHtml(table, {table.name.c_str(), table.name.c_str(), "", nullptr, false}, origin);
  }
  return out + "</div></section>\n";
}

}  // namespace

std::string RenderHtml(const ReportData& data) {
  std::string out = HeadHtml(data);
  out += "<body><a class=\"skip\" href=\"#tables\">Skip to the tables</a>\n<main>\n";
  out += TitleHtml(data);
  out += GapsHtml(data.gaps);
  out += HeadlineHtml(data);
  out += ChartsHtml(data);
  out += TablesHtml(data);
  out +=
      "</main>\n<footer><p>Made by Crosscut. This file asks no network for anything. "
      "Every number here stands in a table that <code>crosscut table</code> prints.</p>"
      "</footer>\n<script type=\"application/json\" id=\"data\">";
  out += PageJson(data);
  out += "</script>\n<script>";
  out += kPageScript;
  out += "</script></body></html>\n";
  return out;
}

}  // namespace crosscut::report
