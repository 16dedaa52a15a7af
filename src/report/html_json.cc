#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "src/report/cells.h"
#include "src/report/html_parts.h"
#include "src/report/shown_text.h"
#include "src/report/table_text.h"

namespace crosscut::report {
namespace {

using analyze::Column;
using analyze::Integers;
using analyze::Table;
using analyze::Texts;
using Rows = std::vector<size_t>;

// The items by `append`, with commas between them.
template <class Items, class Append>
void AppendEach(const Items& items, std::string* out, Append append) {
  bool first = true;
  for (const auto& item : items) {
    if (!first) *out += ',';
    first = false;
    append(item);
  }
}

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
      AppendEach(rows, &out, [&](size_t row) { out += Cell(*column, row); });
      out += ']';
    }
    return out + '}';
  }

  std::string Time(int64_t ns) const { return std::to_string(ns - origin_); }
  const TextPool& texts() const { return texts_; }

 private:
  std::string Cell(const Column& column, size_t row) {
    if (const auto* texts = std::get_if<Texts>(&column.cells)) {
      return std::to_string(texts_.Put((*texts)[row]));
    }
    const auto* times = IsTime(column.name) ? std::get_if<Integers>(&column.cells) : nullptr;
    const bool known = times != nullptr && (*times)[row] != analyze::kMissing;
    return known ? Time((*times)[row]) : JsonNumber(column, row);
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
void AppendNumbers(const char* key, const Items& items, std::string* out, Get get) {
  *out += ",\"" + std::string(key) + "\":[";
  AppendEach(items, out, [&](const auto& item) { *out += std::to_string(get(item)); });
  *out += ']';
}

int64_t TextIndex(uint32_t text) { return text == analyze::kNoText ? -1 : int64_t{text}; }

// Tiles as columns; indices as steps from the end of the tile before; shares as a letter for the
// layer ('a' = 1) and two hexadecimal digits, tiles separated by commas.
void AppendLevel(const analyze::TimelineLevel& level, std::string* out) {
  using Tile = analyze::TimelineTile;
  *out += "{\"tile\":" + std::to_string(level.tile_ns);
  int64_t next = 0;
  AppendNumbers("skip", level.tiles, out, [&](const Tile& t) {
    const int64_t skip = int64_t{t.index} - next;
    next = int64_t{t.index} + t.count;
    return skip;
  });
  AppendNumbers("count", level.tiles, out, [](const Tile& t) { return t.count; });
  AppendNumbers("name", level.tiles, out, [](const Tile& t) { return TextIndex(t.name); });
  AppendNumbers("op", level.tiles, out, [](const Tile& t) { return TextIndex(t.operation); });
  AppendNumbers("spans", level.tiles, out, [](const Tile& t) { return t.spans; });
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
  AppendEach(track.levels, out, [&](const auto& level) { AppendLevel(level, out); });
  *out += "]}";
}

void AppendProcess(const analyze::TimelineProcess& process, const Writer& writer,
                   std::string* out) {
  *out += "{\"id\":" + std::to_string(process.process) + ",\"name\":" + JsonString(process.name) +
          ",\"begin\":" + writer.Time(process.begin_ns) +
          ",\"end\":" + writer.Time(process.end_ns) + ",\"paused\":[";
  AppendEach(process.paused, out, [&](const auto& paused) {
    *out += '[' + writer.Time(paused.begin_ns) + ',' + writer.Time(paused.end_ns) + ']';
  });
  *out += "],\"tracks\":[";
  AppendEach(process.tracks, out, [&](const auto& track) { AppendTrack(track, writer, out); });
  *out += "]}";
}

// A column of spans, left out where it says nothing of any.
template <class Get>
void AppendOptional(const char* key, const std::vector<analyze::TimelineSpan>& spans, int64_t none,
                    std::string* out, Get get) {
  const bool said = std::any_of(spans.begin(), spans.end(),
                                [&](const analyze::TimelineSpan& s) { return get(s) != none; });
  if (said) AppendNumbers(key, spans, out, get);
}

// Spans as columns; begins as steps from the begin before, in nanoseconds.
void AppendSpans(const analyze::TimelineDetailTrack& track, int64_t begin_ns, std::string* out) {
  using Span = analyze::TimelineSpan;
  *out +=
      "{\"id\":" + std::to_string(track.track) + ",\"omitted\":" + std::to_string(track.omitted);
  int64_t last = begin_ns;
  AppendNumbers("at", track.spans, out, [&](const Span& s) {
    const int64_t step = s.begin_ns - last;
    last = s.begin_ns;
    return step;
  });
  const auto add = [&](const char* key, auto get) { AppendNumbers(key, track.spans, out, get); };
  add("ns", [](const Span& s) { return s.end_ns - s.begin_ns; });
  add("name", [](const Span& s) { return TextIndex(s.name); });
  add("depth", [](const Span& s) { return int{s.depth}; });
  add("layer", [](const Span& s) { return static_cast<int>(s.layer); });
  add("kind", [](const Span& s) { return static_cast<int>(s.kind); });
  AppendOptional("args", track.spans, -1, out, [](const Span& s) {
    return s.args == analyze::kArgsLeftOut ? int64_t{-2} : TextIndex(s.args);
  });
  AppendOptional("line", track.spans, 0, out, [](const Span& s) { return int64_t{s.called_at}; });
  *out += '}';
}

void AppendDetail(const analyze::TimelineDetail& detail, const Writer& writer, std::string* out) {
  *out += "{\"process\":" + std::to_string(detail.process) +
          ",\"title\":" + JsonString(detail.title) + ",\"begin\":" + writer.Time(detail.begin_ns) +
          ",\"end\":" + writer.Time(detail.end_ns) + ",\"tracks\":[";
  AppendEach(detail.tracks, out,
             [&](const auto& track) { AppendSpans(track, detail.begin_ns, out); });
  *out += "]}";
}

// The spans' arguments, and the arrows between spans.
void AppendBeside(const analyze::Timeline& timeline, std::string* out) {
  *out += ",\"args\":[";
  AppendEach(timeline.args, out, [&](const auto& args) {
    *out += '[';
    AppendEach(args, out, [&](auto text) { *out += std::to_string(text); });
    *out += ']';
  });
  *out += "],\"omitted_flows\":" + std::to_string(timeline.omitted_flows);
  using Flow = analyze::TimelineFlow;
  AppendNumbers("from", timeline.flows, out, [](const Flow& f) { return TextIndex(f.from); });
  AppendNumbers("to", timeline.flows, out, [](const Flow& f) { return TextIndex(f.to); });
}

std::string TimelineJson(const analyze::Timeline& timeline, const Writer& writer) {
  std::string out = "{\"begin\":" + writer.Time(timeline.begin_ns) +
                    ",\"end\":" + writer.Time(timeline.end_ns) +
                    ",\"omitted\":" + std::to_string(timeline.omitted_tracks) +
                    ",\"texts\":" + TextsJson(timeline.texts);
  out += ",\"processes\":[";
  AppendEach(timeline.processes, &out,
             [&](const auto& process) { AppendProcess(process, writer, &out); });
  out += "],\"details\":[";
  AppendEach(timeline.details, &out,
             [&](const auto& detail) { AppendDetail(detail, writer, &out); });
  out += ']';
  AppendBeside(timeline, &out);
  return out + '}';
}

}  // namespace

int64_t PageOrigin(const ReportData& data) {
  if (data.timeline.end_ns > data.timeline.begin_ns) return data.timeline.begin_ns;
  const Cells processes(data.Find("processes"));
  std::optional<int64_t> origin;
  for (size_t row = 0; row < processes.rows(); ++row) {
    const int64_t start = processes.Int("start_ns", row);
    if (start != analyze::kMissing) origin = std::min(start, origin.value_or(start));
  }
  return origin.value_or(0);
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
  out += ",\"run\":" + JsonString(data.Run());
  if (!data.timeline.processes.empty()) {
    out += ",\"timeline\":" + TimelineJson(data.timeline, writer);
  }
  return out + ",\"texts\":" + writer.texts().Json() + '}';
}

}  // namespace crosscut::report
