#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <variant>
#include <vector>

#include "src/report/html_parts.h"
#include "src/report/numbers.h"
#include "src/report/process_titles.h"
#include "src/report/shown_text.h"

namespace crosscut::report {
namespace {

using analyze::Table;

constexpr int64_t kLeft = 190, kWidth = 1000, kBarsHeight = 48, kStrip = 16;
constexpr size_t kLabelBytes = 28;

struct Bar {
  const char* name;
  const char* column;  // nullptr: from the phase's begin to its end
  const char* color;   // readable on light and dark pages; none of a layer but device
};
constexpr Bar kBars[] = {{"total", nullptr, "#8d99ae"},
                         {"CPU", "any_host_ns", "#7d8b1f"},
                         {"device", "any_device_ns", "#8153ee"}};

// What a process took over time, from one look to the next. The most of all processes, or
// `least_top`, is as high as the strip.
struct Strip {
  const char* name;
  const char* column;
  const char* unit;
  double least_top;
  const char* color;
};
constexpr Strip kStrips[] = {{"CPU", "cpu_percent", " % of a core", 100, "#7d8b1f"},
                             {"memory", "resident_bytes", " bytes", 1, "#6d7f8f"},
                             {"device", "device_percent", " % of the time", 100, "#8153ee"}};

// NaN where the cell is missing.
double ValueOf(const Table& table, const Strip& strip, size_t row) {
  const analyze::Column& column = *table.Find(strip.column);
  if (const auto* reals = std::get_if<analyze::Reals>(&column.cells)) return (*reals)[row];
  const int64_t value = std::get<analyze::Integers>(column.cells)[row];
  return value == analyze::kMissing ? std::nan("") : static_cast<double>(value);
}

// What fits beside the bars.
std::string Shortened(const std::string& text) {
  if (text.size() <= kLabelBytes) return text;
  size_t end = kLabelBytes - 1;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // a character in UTF-8 stays whole
  return text.substr(0, end) + "…";
}

class Picture {
 public:
  explicit Picture(const ProcessTables& tables)
      : phases_(*tables.phases), utilization_(tables.utilization), titles_(tables.processes) {
    TakePhases();
    TakeUtilization();
  }

  size_t drawn() const { return rows_.size(); }
  bool has_strips() const { return !tops_.empty(); }

  std::string Svg(int64_t origin) const {
    const std::string height = std::to_string(static_cast<int64_t>(lanes_.size()) * Lane());
    std::string out = "<svg role=\"img\" width=\"100%\" viewBox=\"0 0 " + std::to_string(kWidth) +
                      " " + height + "\"><title>Processes and their phases</title>";
    for (const auto& [process, lane] : lanes_) out += Label(process, lane);
    for (const size_t row : rows_) out += Phase(row, origin);
    for (const auto& [process, looks] : looks_) {
      for (size_t i = 0; i < tops_.size(); ++i) out += StripOf(looks, i, lanes_.at(process));
    }
    for (const size_t row : rows_) out += Arrow(row);
    return out + "</svg>\n";
  }

 private:
  void TakePhases() {
    const Table& phases = phases_;
    const auto& process = phases.texts("process");
    for (size_t row = 0; row < phases.rows(); ++row) {
      if (lanes_.size() == kMaxProcessLanes && !lanes_.contains(process[row])) continue;
      if (rows_.size() == kMaxDrawnPhases) break;
      lanes_.try_emplace(process[row], static_cast<int64_t>(lanes_.size()));
      rows_.push_back(row);
      from_ = std::min(from_, Begin(row));
      until_ = std::max(until_, End(row));
    }
  }

  void TakeUtilization() {
    for (size_t row = 0; utilization_ != nullptr && row < utilization_->rows(); ++row) {
      const std::string& process = utilization_->texts("process")[row];
      if (!lanes_.contains(process)) continue;
      looks_[process].push_back(row);
      for (size_t i = 0; i < std::size(kStrips); ++i) {
        const double value = ValueOf(*utilization_, kStrips[i], row);
        if (std::isnan(value)) continue;
        while (tops_.size() <= i) tops_.push_back(kStrips[tops_.size()].least_top);
        tops_[i] = std::max(tops_[i], value);
      }
    }
  }

  int64_t Lane() const { return kBarsHeight + kStrip * static_cast<int64_t>(tops_.size()); }
  int64_t Begin(size_t row) const { return phases_.integers("begin_ns")[row]; }
  int64_t End(size_t row) const { return phases_.integers("end_ns")[row]; }
  int64_t LaneOf(size_t row) const { return lanes_.at(phases_.texts("process")[row]); }
  int64_t Length(int64_t ns) const {
    const double share = static_cast<double>(ns) / static_cast<double>(until_ - from_);
    return static_cast<int64_t>(share * (kWidth - kLeft));
  }
  int64_t X(int64_t at) const { return kLeft + Length(at - from_); }

  std::string Label(const std::string& process, int64_t lane) const {
    const std::string title = titles_.Of(process);
    return "<text x=\"0\" y=\"" + std::to_string(lane * Lane() + 20) +
           "\" font-size=\"12\" fill=\"currentColor\">" + EscapeHtml(Shortened(title)) + "<title>" +
           EscapeHtml(title == process ? title : title + ", " + process) + "</title></text>";
  }

  std::string Phase(size_t row, int64_t origin) const {
    const std::string& phase = phases_.texts("phase")[row];
    const std::string name = phase.empty() ? "no phase" : EscapeHtml(phase);
    std::string out, words = name + ": from " + FormatNs(Begin(row) - origin) + " to " +
                             FormatNs(End(row) - origin);
    for (const Bar& bar : kBars) {
      if (bar.column == nullptr) continue;
      words += std::string(", ") + bar.name + " " + FormatNs(phases_.integers(bar.column)[row]);
    }
    int64_t y = LaneOf(row) * Lane() + 4;
    for (const Bar& bar : kBars) {
      const int64_t ns =
          bar.column == nullptr ? End(row) - Begin(row) : phases_.integers(bar.column)[row];
      out += "<rect x=\"" + std::to_string(X(Begin(row))) + "\" y=\"" + std::to_string(y) +
             "\" width=\"" + std::to_string(std::max<int64_t>(ns > 0, Length(ns))) +
             "\" height=\"12\" fill=\"" + bar.color + "\"><title>" + words + "</title></rect>";
      y += 13;
    }
    return out;
  }

  // Steps above the strip's floor; "" where nothing is known of the process.
  std::string StripOf(const std::vector<size_t>& looks, size_t which, int64_t lane) const {
    const Strip& strip = kStrips[which];
    const int64_t floor =
        lane * Lane() + kBarsHeight - 4 + kStrip * static_cast<int64_t>(which + 1);
    std::string path;
    double most = -1;
    for (const size_t row : looks) {
      const double value = ValueOf(*utilization_, strip, row);
      if (std::isnan(value)) continue;
      most = std::max(most, value);
      const std::string begin = std::to_string(X(utilization_->integers("begin_ns")[row]));
      if (path.empty()) path = "M" + begin + " " + std::to_string(floor);
      const auto up = std::llround(value / tops_[which] * (kStrip - 2));
      path += "H" + begin + "V" + std::to_string(floor - up) + "H" +
              std::to_string(X(utilization_->integers("end_ns")[row]));
    }
    if (most < 0) return "";
    return "<path class=\"strip\" fill=\"" + std::string(strip.color) + "\" d=\"" + path + "V" +
           std::to_string(floor) + "Z\"><title>" + strip.name + ": at most " +
           FormatCount(std::lround(most)) + strip.unit + "</title></path>";
  }

  // To where a process begins, from its parent's lane.
  std::string Arrow(size_t row) const {
    const std::string& process = phases_.texts("process")[row];
    const auto parent = lanes_.find(phases_.texts("parent")[row]);
    const bool first = row == 0 || phases_.texts("process")[row - 1] != process;
    if (!first || parent == lanes_.end() || parent->second == LaneOf(row)) return "";
    const bool down = parent->second < LaneOf(row);
    const std::string x = std::to_string(X(Begin(row)));
    const int64_t to = LaneOf(row) * Lane() + (down ? 4 : Lane() - 6);
    const int64_t from = parent->second * Lane() + (down ? Lane() - 6 : 4);
    return "<path d=\"M" + x + " " + std::to_string(from) + "V" + std::to_string(to) + "m-4 " +
           (down ? "-6l4 6l4 -6" : "6l4 -6l4 6") + "\" fill=\"none\" stroke=\"currentColor\"/>";
  }

  const Table& phases_;
  const Table* utilization_;
  std::map<std::string, int64_t> lanes_;  // by process, from the top
  ProcessTitles titles_;
  std::vector<size_t> rows_;
  std::map<std::string, std::vector<size_t>> looks_;  // rows of utilization, by process
  std::vector<double> tops_;                          // by strip
  int64_t from_ = INT64_MAX, until_ = INT64_MIN;
};

std::string Swatch(const char* color, const char* name) {
  return std::string(
             "<span class=\"swatch\"><svg width=\"12\" height=\"12\" role=\"presentation\"><rect "
             "width=\"12\" height=\"12\" fill=\"") +
         color + "\"/></svg> " + name + "</span>";
}

std::string KeyOf(const Picture& picture) {
  std::string out = "<p class=\"explain\">Each phase as three bars:";
  for (const Bar& bar : kBars) {
    out += (bar.column == nullptr ? " " : ", ") + Swatch(bar.color, bar.name);
  }
  if (picture.has_strips()) {
    out += "; below them strips of what the process took over time:";
    for (const Strip& strip : kStrips) {
      out += (&strip == kStrips ? " " : ", ") + Swatch(strip.color, strip.name);
    }
    out += ", on one scale for all processes";
  }
  return out +
         ". CPU: any layer of the host was active; device: a device of the process was "
         "busy. Both start where the phase starts and are as long as their sums. Arrows lead "
         "from parents to where their children start.</p>\n";
}

}  // namespace

std::string ProcessesHtml(const ProcessTables& tables, int64_t origin) {
  const Table* phases = tables.phases;
  if (phases == nullptr || phases->rows() == 0) return "";
  if (phases->rows() == 1 && phases->texts("phase")[0].empty()) return "";
  const Picture picture(tables);
  std::string out = "<section id=\"phases\" class=\"chart\"><h2>Processes and phases</h2>\n" +
                    KeyOf(picture) + picture.Svg(origin);
  if (picture.drawn() < phases->rows()) {
    out += "<p class=\"note\">" + FormatCount(picture.drawn()) + " of " +
           FormatCount(phases->rows()) +
           " are drawn; <code>crosscut table RUN phases</code> has all of them.</p>\n";
  }
  return out + "</section>\n";
}

}  // namespace crosscut::report
