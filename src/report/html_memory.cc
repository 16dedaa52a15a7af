#include <algorithm>
#include <vector>

#include "src/report/html_parts.h"
#include "src/report/numbers.h"
#include "src/report/shown_text.h"

namespace crosscut::report {
namespace {

using analyze::Table;

constexpr int64_t kWidth = 1000, kHeight = 100;

// The rows of one process and device.
struct Series {
  size_t first, last;
  int64_t peak = 0;
};

std::vector<Series> SeriesOf(const Table& table) {
  const auto& process = table.texts("process");
  const auto& device = table.texts("device");
  std::vector<Series> out;
  for (size_t row = 0; row < table.rows(); ++row) {
    const bool same = row > 0 && process[row] == process[row - 1] && device[row] == device[row - 1];
    if (!same) out.push_back({row, row});
    out.back().last = row;
    out.back().peak = std::max(out.back().peak, table.integers("max_bytes")[row]);
  }
  return out;
}

std::string BytesText(int64_t bytes) { return FormatCount(bytes) + " bytes"; }

// What was held at most, as steps above the zero line.
std::string Path(const Table& table, const Series& series) {
  const auto& begin = table.integers("begin_ns");
  const auto& end = table.integers("end_ns");
  const auto& most = table.integers("max_bytes");
  const auto from = static_cast<double>(begin[series.first]);
  const double width = std::max(1.0, static_cast<double>(end[series.last]) - from);
  const double height = std::max(1.0, static_cast<double>(series.peak));
  const auto x = [&](int64_t at) {
    return std::to_string(static_cast<int64_t>((static_cast<double>(at) - from) * kWidth / width));
  };
  const auto y = [&](int64_t bytes) {
    const double share = static_cast<double>(std::max<int64_t>(bytes, 0)) / height;
    return std::to_string(kHeight - static_cast<int64_t>(share * kHeight));
  };
  std::string path = "M0 " + std::to_string(kHeight);
  for (size_t row = series.first; row <= series.last; ++row) {
    // Parts in which nothing was held have no row.
    if (row > series.first && begin[row] > end[row - 1]) path += "V" + std::to_string(kHeight);
    path += "H" + x(begin[row]) + "V" + y(most[row]) + "H" + x(end[row]);
  }
  return path + "V" + std::to_string(kHeight) + "Z";
}

std::string ChartOf(const Table& table, const Series& series, int64_t origin,
                    const ProcessTitles& titles) {
  const std::string title = EscapeHtml(titles.Of(table.texts("process")[series.first])) + ", " +
                            EscapeHtml(table.texts("device")[series.first]);
  return "<figure><figcaption>" + title + ": at most " + BytesText(series.peak) + ", from " +
         FormatNs(table.integers("begin_ns")[series.first] - origin) + " to " +
         FormatNs(table.integers("end_ns")[series.last] - origin) +
         "</figcaption><svg role=\"img\" width=\"100%\" height=\"80\" viewBox=\"0 0 1000 101\" "
         "preserveAspectRatio=\"none\"><title>" +
         title + "</title><path fill=\"currentColor\" fill-opacity=\"0.35\" stroke=\"none\" d=\"" +
         Path(table, series) + "\"/></svg></figure>\n";
}

}  // namespace

std::string MemoryHtml(const Table* timeline, int64_t origin, const ProcessTitles& titles) {
  if (timeline == nullptr || timeline->rows() == 0) return "";
  std::vector<Series> all = SeriesOf(*timeline);
  std::stable_sort(all.begin(), all.end(),
                   [](const Series& a, const Series& b) { return a.peak > b.peak; });
  std::string out = "<section id=\"memory\" class=\"chart\"><h2>Memory over time</h2>\n";
  if (all.size() > kMaxMemoryCharts) {
    out += "<p class=\"note\">The " + std::to_string(kMaxMemoryCharts) +
           " with the highest peaks "
           "of " +
           FormatCount(all.size()) +
           "; <code>crosscut table RUN memory_timeline</code> has all of them.</p>";
    all.resize(kMaxMemoryCharts);
  }
  for (const Series& series : all) out += ChartOf(*timeline, series, origin, titles);
  return out + "</section>\n";
}

}  // namespace crosscut::report
