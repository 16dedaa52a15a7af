#include "src/report/verdict_words.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "src/analyze/figures.h"
#include "src/base/shown_text.h"
#include "src/report/document_parts.h"

namespace crosscut::report {
namespace {

constexpr double kZero = 0.005;  // what the interval may reach down to, and still be known

constexpr size_t kMostRequests = 3;  // kinds of them that are told

// "4.2"; "310".
std::string Digits(double value) {
  char text[32];
  snprintf(text, sizeof text, value < 99.5 ? "%.2g" : "%.0f", value);
  return text;
}

// 0: the process has no such part.
int64_t PartNs(const ReportData& data, std::string_view process, std::string_view part) {
  const Cells parts(data.Find("window_parts"));
  for (size_t row = 0; row < parts.rows(); ++row) {
    if (parts.Text("process", row) == process && parts.Text("part", row) == part) {
      return parts.Int("wall_ns", row);
    }
  }
  return 0;
}

std::string RequestsText(const Cells& requests, size_t row) {
  const int64_t count = requests.Int("count", row), open = requests.Int("open", row);
  std::string what(requests.Text("what", row));
  if (count != 1) what += "s";
  std::string out =
      CountText(count) + " " + what + " of " + base::ShownText(requests.Text("request", row));
  if (requests.Int("p50_ns", row) != analyze::kMissing) {
    out += ": median " + TimeText(requests.Int("p50_ns", row)) + ", 99 % within " +
           TimeText(requests.Int("p99_ns", row)) + ", " +
           Digits(requests.Real("concurrency", row)) + " at a time (" +
           CountText(requests.Int("most", row)) + " at most), " +
           Digits(requests.Real("per_second", row)) + " a second";
  }
  if (requests.Int("running_ns", row) != analyze::kMissing) {
    out += "; on the mean running for " + TimeText(requests.Int("running_ns", row)) + " of " +
           TimeText(requests.Int("running_ns", row) + requests.Int("waiting_ns", row));
  }
  if (open > 0) out += "; " + CountText(open) + " never ended";
  return out + ".";
}

}  // namespace

GainWords GainWordsOf(const Cells& verdict, size_t row) {
  const double gain = verdict.Real("gain_share", row);
  const double low = verdict.Real("gain_low_share", row);
  const double high = verdict.Real("gain_high_share", row);
  const bool bounded = std::isfinite(low) && std::isfinite(high);
  if (!std::isfinite(gain) || (bounded && low < kZero && high > kZero)) {
    return {false, "not known: between 0 % and " + analyze::ShareText(bounded ? high : 1), ""};
  }
  const auto text = [&](double share) {
    return bounded ? analyze::ShareText(share, (high - low) / 2) : analyze::ShareText(share);
  };
  GainWords out = {true, text(gain) + " at most", ""};
  if (bounded) out.most += " (95 %: " + text(low) + " to " + text(high) + ")";
  const std::string_view cause = verdict.Text("cause", row);
  if (cause == "framework" || cause == "device") out.half = text(gain / 2);
  return out;
}

std::vector<std::string> RequestsTexts(const ReportData& data, std::string_view process) {
  const Cells requests(data.Find("requests"));
  std::vector<std::string> out;
  int64_t kinds = 0;
  for (size_t row = 0; row < requests.rows(); ++row) {
    if (requests.Text("process", row) != process) continue;
    if (out.size() < kMostRequests) out.push_back(RequestsText(requests, row));
    ++kinds;
  }
  const int64_t more = kinds - static_cast<int64_t>(kMostRequests);
  if (more > 0) out.back() += " " + CountText(more) + " more kinds: table requests.";
  const int64_t within = PartNs(data, process, "requests");
  const int64_t whole = within + PartNs(data, process, "between requests");
  if (!out.empty() && within > 0 && 2 * within < whole) {
    out.back() += " From the first to the last, requests are under way in " +
                  analyze::ShareText(static_cast<double>(within) / static_cast<double>(whole)) +
                  " of the time.";
  }
  return out;
}

std::string_view TimeOfVerdict(const ReportData& data, std::string_view process) {
  if (PartNs(data, process, "steps") > 0) return "the steps";
  return PartNs(data, process, "requests") > 0 ? "the time with requests" : "the time";
}

std::string WhoseVerdict(const ReportData& data) {
  const Cells verdict(data.Find("verdict")), processes(data.Find("processes"));
  const std::string_view first = verdict.Text("process", 0);
  bool told = false;
  for (size_t row = 1; row < verdict.rows(); ++row) told |= verdict.Text("process", row) != first;
  for (size_t row = 0; row < processes.rows(); ++row) {
    told |= processes.Text("process", row) == first && !processes.Text("parent", row).empty();
  }
  return told ? ProcessName(data, first) + ": " : "";
}

std::vector<std::string> FindingsOfSteps(const ReportData& data, std::string_view process) {
  std::vector<std::string> out;
  for (const char* table : {"step_changes", "beside_steps"}) {
    const Cells rows(data.Find(table));
    for (size_t row = 0; row < rows.rows(); ++row) {
      if (rows.Text("process", row) != process || rows.Text("finding", row).empty()) continue;
      out.push_back(base::ShownText(rows.Text("finding", row)));
      break;  // one line; the table has the others
    }
  }
  return out;
}

std::string NothingRepeatsText(const ReportData& data, std::string_view process) {
  if (PartNs(data, process, "whole window") == 0) return "";
  if (!RequestsTexts(data, process).empty()) {
    return "It works more beside requests than in them. To mark what repeats, call "
           "crosscut.step() in the loop.";
  }
  return "Nothing that repeats was found, neither steps nor requests. To mark it, call "
         "crosscut.step() in the loop, or handle each request in crosscut.request(name).";
}

}  // namespace crosscut::report
