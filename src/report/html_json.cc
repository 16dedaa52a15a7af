#include "src/report/html_json.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "src/report/numbers.h"
#include "src/report/shown_text.h"

namespace crosscut::report {
namespace {

using analyze::Column;
using analyze::Integers;
using analyze::Reals;
using analyze::Table;
using analyze::Texts;
using Rows = std::vector<size_t>;

// Texts, as JSON. All of them take kMaxTextBytes or little more: where they would take more, each
// is cut shorter, and says so as any name that is cut.
constexpr size_t kMaxTextBytes = 1'200'000, kLeastText = 8;

std::string TextsJson(const std::vector<const std::string*>& texts) {
  for (size_t most = kMaxPageText;; most /= 2) {
    std::string out = "[";
    for (const std::string* text : texts) {
      if (out.size() > 1) out += ',';
      out += JsonString(*text, most);
      if (out.size() > kMaxTextBytes && most > kLeastText) break;
    }
    if (out.size() <= kMaxTextBytes || most <= kLeastText) return out + ']';
  }
}

// Texts by number, written once.
class TextPool {
 public:
  size_t Put(const std::string& text) {
    const auto [it, added] = index_.try_emplace(text, texts_.size());
    if (added) texts_.push_back(&it->first);
    return it->second;
  }
  std::string Json() const { return TextsJson(texts_); }

 private:
  std::unordered_map<std::string, size_t> index_;
  std::vector<const std::string*> texts_;
};

bool IsTime(std::string_view column) {
  return column == "begin_ns" || column == "end_ns" || column == "start_ns";
}

std::string Integer(int64_t value) {
  return value == analyze::kMissing ? "null" : std::to_string(value);
}

std::string Real(double value) {
  const std::string text = RealText(value);
  return text.empty() ? "null" : text;
}

class Writer {
 public:
  explicit Writer(int64_t origin) : origin_(origin) {}

  // {"rows":N,"column":[...],...}: the columns of `names` that the table has, at `rows`.
  std::string TableJson(const Table& table, const std::vector<const char*>& names,
                        const Rows& rows) {
    std::string out = "{\"rows\":" + std::to_string(rows.size());
    for (const char* name : names) {
      const Column* column = table.Find(name);
      if (column == nullptr) continue;
      out += ",\"" + std::string(name) + "\":[";
      for (size_t i = 0; i < rows.size(); ++i) {
        if (i > 0) out += ',';
        out += Cell(*column, rows[i]);
      }
      out += ']';
    }
    return out + '}';
  }

  std::string Time(int64_t ns) const { return Integer(ns - origin_); }
  const TextPool& texts() const { return texts_; }

 private:
  std::string Cell(const Column& column, size_t row) {
    if (const auto* v = std::get_if<Integers>(&column.cells)) {
      const int64_t value = (*v)[row];
      return IsTime(column.name) && value != analyze::kMissing ? Time(value) : Integer(value);
    }
    if (const auto* v = std::get_if<Reals>(&column.cells)) return Real((*v)[row]);
    return std::to_string(texts_.Put(std::get<Texts>(column.cells)[row]));
  }

  int64_t origin_;
  TextPool texts_;
};

Rows AllRows(const Table& table) {
  Rows rows(table.rows());
  std::iota(rows.begin(), rows.end(), size_t{0});
  return rows;
}

const Integers* FindIntegers(const Table& table, std::string_view name) {
  const Column* column = table.Find(name);
  return column == nullptr ? nullptr : std::get_if<Integers>(&column->cells);
}

Rows LargestRows(const Table& table, std::string_view by, size_t limit) {
  Rows rows = AllRows(table);
  const Integers* sizes = FindIntegers(table, by);
  if (rows.size() <= limit || sizes == nullptr) return rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [&](size_t a, size_t b) { return (*sizes)[a] > (*sizes)[b]; });
  rows.resize(limit);
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Real rows only: of every group the slowest and the fastest step, and the steps with spans.
Rows ThinnedSteps(const Table& table, const analyze::Timeline& timeline) {
  const Rows all = AllRows(table);
  const Integers* begin = FindIntegers(table, "begin_ns");
  const Integers* end = FindIntegers(table, "end_ns");
  if (all.size() <= kMaxPageSteps || begin == nullptr || end == nullptr) return all;
  const size_t group = (2 * all.size() + kMaxPageSteps - 1) / kMaxPageSteps;
  const auto length = [&](size_t row) { return (*end)[row] - (*begin)[row]; };
  Rows rows;
  for (size_t from = 0; from < all.size(); from += group) {
    const size_t to = std::min(from + group, all.size());
    size_t slowest = from, fastest = from;
    for (size_t row = from; row < to; ++row) {
      if (length(row) > length(slowest)) slowest = row;
      if (length(row) < length(fastest)) fastest = row;
    }
    rows.push_back(std::min(slowest, fastest));
    if (slowest != fastest) rows.push_back(std::max(slowest, fastest));
  }
  std::set<std::pair<int64_t, int64_t>> kept;
  for (const analyze::TimelineDetail& d : timeline.details) kept.emplace(d.begin_ns, d.end_ns);
  for (const size_t row : all) {
    if (kept.contains({(*begin)[row], (*end)[row]})) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

std::string TextsJson(const std::vector<std::string>& texts) {
  std::vector<const std::string*> all;
  for (const std::string& text : texts) all.push_back(&text);
  return TextsJson(all);
}

template <class Items, class Get>
void AppendNumbers(const char* key, const Items& items, Get get, std::string* out) {
  *out += ",\"";
  *out += key;
  *out += "\":[";
  bool first = true;
  for (const auto& item : items) {
    if (!first) *out += ',';
    first = false;
    *out += std::to_string(get(item));
  }
  *out += ']';
}

int64_t TextIndex(uint32_t text) { return text == analyze::kNoText ? -1 : int64_t{text}; }

// Tiles as columns; indices as steps from the end of the tile before; shares as a letter for the
// layer ('a' = 1) and two hexadecimal digits, tiles separated by commas.
void AppendLevel(const analyze::TimelineLevel& level, std::string* out) {
  using Tile = analyze::TimelineTile;
  *out += "{\"tile\":" + std::to_string(level.tile_ns);
  int64_t next = 0;
  AppendNumbers(
      "skip", level.tiles,
      [&](const Tile& t) {
        const int64_t skip = int64_t{t.index} - next;
        next = int64_t{t.index} + t.count;
        return skip;
      },
      out);
  AppendNumbers(
      "count", level.tiles, [](const Tile& t) { return t.count; }, out);
  AppendNumbers(
      "name", level.tiles, [](const Tile& t) { return TextIndex(t.name); }, out);
  AppendNumbers(
      "op", level.tiles, [](const Tile& t) { return TextIndex(t.operation); }, out);
  AppendNumbers(
      "spans", level.tiles, [](const Tile& t) { return t.spans; }, out);
  *out += ",\"share\":\"";
  for (const Tile& tile : level.tiles) {
    for (size_t layer = 1; layer < tile.share.size(); ++layer) {
      if (tile.share[layer] == 0) continue;
      char text[8];
      std::snprintf(text, sizeof text, "%c%02x", static_cast<char>('a' + layer - 1),
                    tile.share[layer]);
      *out += text;
    }
    *out += ',';
  }
  *out += "\"}";
}

void AppendTrack(const analyze::TimelineTrack& track, const Writer& writer, std::string* out) {
  *out += "{\"id\":" + std::to_string(track.track) + ",\"name\":" + JsonString(track.name) +
          ",\"device\":" + (track.device ? "1" : "0") + ",\"lead\":" + (track.lead ? "1" : "0") +
          ",\"ours\":" + (track.ours ? "1" : "0") + ",\"begin\":" + writer.Time(track.begin_ns) +
          ",\"end\":" + writer.Time(track.end_ns) + ",\"levels\":[";
  for (size_t i = 0; i < track.levels.size(); ++i) {
    if (i > 0) *out += ',';
    AppendLevel(track.levels[i], out);
  }
  *out += "]}";
}

void AppendProcess(const analyze::TimelineProcess& process, const Writer& writer,
                   std::string* out) {
  *out += "{\"id\":" + std::to_string(process.process) + ",\"name\":" + JsonString(process.name) +
          ",\"begin\":" + writer.Time(process.begin_ns) +
          ",\"end\":" + writer.Time(process.end_ns) + ",\"paused\":[";
  for (size_t i = 0; i < process.paused.size(); ++i) {
    if (i > 0) *out += ',';
    *out += '[' + writer.Time(process.paused[i].begin_ns) + ',' +
            writer.Time(process.paused[i].end_ns) + ']';
  }
  *out += "],\"tracks\":[";
  for (size_t i = 0; i < process.tracks.size(); ++i) {
    if (i > 0) *out += ',';
    AppendTrack(process.tracks[i], writer, out);
  }
  *out += "]}";
}

// A column of spans, left out where it says nothing of any.
template <class Get>
void AppendOptional(const char* key, const std::vector<analyze::TimelineSpan>& spans, int64_t none,
                    Get get, std::string* out) {
  const bool said = std::any_of(spans.begin(), spans.end(),
                                [&](const analyze::TimelineSpan& s) { return get(s) != none; });
  if (said) AppendNumbers(key, spans, get, out);
}

// Spans as columns; begins as steps from the begin before, in nanoseconds.
void AppendSpans(const analyze::TimelineDetailTrack& track, int64_t begin_ns, std::string* out) {
  using Span = analyze::TimelineSpan;
  *out +=
      "{\"id\":" + std::to_string(track.track) + ",\"omitted\":" + std::to_string(track.omitted);
  int64_t last = begin_ns;
  AppendNumbers(
      "at", track.spans,
      [&](const Span& s) {
        const int64_t step = s.begin_ns - last;
        last = s.begin_ns;
        return step;
      },
      out);
  const auto add = [&](const char* key, auto get) { AppendNumbers(key, track.spans, get, out); };
  add("ns", [](const Span& s) { return s.end_ns - s.begin_ns; });
  add("name", [](const Span& s) { return TextIndex(s.name); });
  add("depth", [](const Span& s) { return int{s.depth}; });
  add("layer", [](const Span& s) { return static_cast<int>(s.layer); });
  add("kind", [](const Span& s) { return static_cast<int>(s.kind); });
  const auto args = [](const Span& s) {
    return s.args == analyze::kArgsLeftOut ? int64_t{-2} : TextIndex(s.args);
  };
  AppendOptional("args", track.spans, -1, args, out);
  AppendOptional(
      "line", track.spans, 0, [](const Span& s) { return int64_t{s.called_at}; }, out);
  *out += '}';
}

void AppendDetail(const analyze::TimelineDetail& detail, const Writer& writer, std::string* out) {
  *out += "{\"process\":" + std::to_string(detail.process) +
          ",\"title\":" + JsonString(detail.title) + ",\"begin\":" + writer.Time(detail.begin_ns) +
          ",\"end\":" + writer.Time(detail.end_ns) + ",\"tracks\":[";
  for (size_t i = 0; i < detail.tracks.size(); ++i) {
    if (i > 0) *out += ',';
    AppendSpans(detail.tracks[i], detail.begin_ns, out);
  }
  *out += "]}";
}

// The spans' arguments, and the arrows between spans.
void AppendBeside(const analyze::Timeline& timeline, std::string* out) {
  *out += ",\"args\":[";
  for (size_t i = 0; i < timeline.args.size(); ++i) {
    *out += i > 0 ? ",[" : "[";
    for (size_t k = 0; k < timeline.args[i].size(); ++k) {
      *out += (k > 0 ? "," : "") + std::to_string(timeline.args[i][k]);
    }
    *out += ']';
  }
  *out += "],\"omitted_flows\":" + std::to_string(timeline.omitted_flows);
  using Flow = analyze::TimelineFlow;
  AppendNumbers(
      "from", timeline.flows, [](const Flow& f) { return TextIndex(f.from); }, out);
  AppendNumbers(
      "to", timeline.flows, [](const Flow& f) { return TextIndex(f.to); }, out);
}

std::string TimelineJson(const analyze::Timeline& timeline, const Writer& writer) {
  std::string out = "{\"begin\":" + writer.Time(timeline.begin_ns) +
                    ",\"end\":" + writer.Time(timeline.end_ns) +
                    ",\"omitted\":" + std::to_string(timeline.omitted_tracks) +
                    ",\"texts\":" + TextsJson(timeline.texts);
  out += ",\"processes\":[";
  for (size_t i = 0; i < timeline.processes.size(); ++i) {
    if (i > 0) out += ',';
    AppendProcess(timeline.processes[i], writer, &out);
  }
  out += "],\"details\":[";
  for (size_t i = 0; i < timeline.details.size(); ++i) {
    if (i > 0) out += ',';
    AppendDetail(timeline.details[i], writer, &out);
  }
  out += ']';
  AppendBeside(timeline, &out);
  return out + '}';
}

}  // namespace

int64_t PageOrigin(const ReportData& data) {
  if (data.timeline.end_ns > data.timeline.begin_ns) return data.timeline.begin_ns;
  int64_t origin = 0;
  bool known = false;
  if (const Table* processes = data.Find("processes")) {
    if (const Integers* starts = FindIntegers(*processes, "start_ns")) {
      for (const int64_t start : *starts) {
        if (start == analyze::kMissing || (known && start >= origin)) continue;
        origin = start;
        known = true;
      }
    }
  }
  return origin;
}

std::string PageJson(const ReportData& data) {
  Writer writer(PageOrigin(data));
  std::string out = "{\"version\":1";
  const auto add = [&](const char* name, const std::vector<const char*>& columns, auto pick) {
    if (const Table* table = data.Find(name)) {
      out += ",\"" + std::string(name) + "\":" + writer.TableJson(*table, columns, pick(*table));
    }
  };
  add("processes", {"process", "pid", "name", "start_ns", "wall_ns", "complete"}, AllRows);
  add("verdict", {"process"}, AllRows);  // in which order processes are spoken of
  add("part_work", {"process", "part", "work", "what", "layers", "device", "ns", "corrected_ns"},
      [](const Table& t) { return LargestRows(t, "ns", kMaxPageCells); });
  add("steps",
      {"process", "step", "kind", "begin_ns", "end_ns", "wall_ns", "control", "level", "open"},
      [&](const Table& t) { return ThinnedSteps(t, data.timeline); });
  add("step_summary", {"process", "kind", "steps", "control_steps", "marks_steps", "median_ns"},
      AllRows);
  add("outliers", {"process", "step", "kind", "median_ns", "layers", "grew_ns"}, AllRows);
  const Table* steps = data.Find("steps");
  out += ",\"all_steps\":" + std::to_string(steps == nullptr ? 0 : steps->rows());
  std::string run = "RUN";
  for (const auto& [name, value] : data.facts) {
    if (name == "Run") run = value;
  }
  out += ",\"run\":" + JsonString(run);
  if (!data.timeline.processes.empty()) {
    out += ",\"timeline\":" + TimelineJson(data.timeline, writer);
  }
  return out + ",\"texts\":" + writer.texts().Json() + '}';
}

}  // namespace crosscut::report
