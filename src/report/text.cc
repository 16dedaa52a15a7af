#include <algorithm>
#include <vector>

#include "src/base/utf8.h"
#include "src/report/shown_text.h"
#include "src/report/views.h"

namespace crosscut::report {
namespace {

constexpr std::string_view kBold = "\x1b[1m", kDim = "\x1b[2m", kYellow = "\x1b[33m",
                           kReset = "\x1b[0m";

// Columns of a terminal: one a character, two for the wide East Asian blocks and emoji.
size_t Columns(std::string_view text) {
  size_t columns = 0, skip;
  while (!text.empty()) {
    const size_t length = base::Utf8Length(text, &skip);
    const auto lead = static_cast<unsigned char>(text[0]);
    const bool wide = length == 4 || (length == 3 && lead >= 0xe3 && lead <= 0xed);
    columns += wide ? 2 : 1;
    text.remove_prefix(length == 0 ? skip : length);
  }
  return columns;
}

std::string Cut(const std::string& text, size_t columns) {
  if (Columns(text) <= columns) return text;
  std::string out;
  std::string_view rest = text;
  size_t used = 0, skip;
  while (!rest.empty()) {
    const size_t length = std::max<size_t>(1, base::Utf8Length(rest, &skip));
    const size_t wide = Columns(rest.substr(0, length));
    if (used + wide + 1 > columns) break;
    out.append(rest.substr(0, length));
    used += wide;
    rest.remove_prefix(length);
  }
  return out + "…";
}

std::string Pad(const std::string& text, size_t columns, bool right) {
  const size_t used = Columns(text);
  const std::string blanks(columns > used ? columns - used : 0, ' ');
  return right ? blanks + text : text + blanks;
}

// A set of layers stands on as many lines as it has layers: "framework", "+python".
std::vector<std::string> HeadLines(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '+' && !lines.back().empty()) lines.emplace_back();
    lines.back() += c;
  }
  return lines;
}

class TextReport {
 public:
  explicit TextReport(const TextOptions& options)
      : width_(static_cast<size_t>(std::max(80, options.width))),
        color_(options.color),
        whole_(options.whole) {}

  std::string Render(const Document& document);

 private:
  std::string Paint(std::string_view how, const std::string& text) const {
    return color_ ? std::string(how) + text + std::string(kReset) : text;
  }
  void Wrap(const std::string& text, const std::string& first, const std::string& other);
  void AddGrid(const Grid& grid);
  std::vector<size_t> Widths(const Grid& grid) const;

  size_t width_;
  bool color_;
  bool whole_;
  std::string out_;
};

// Words of `text` on lines of at most width_ columns.
void TextReport::Wrap(const std::string& text, const std::string& first, const std::string& other) {
  std::string line = first;
  bool empty = true;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!empty && Columns(line) + 1 + Columns(word) > width_) {
      out_ += line + "\n";
      line = other;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
    at = end + 1;
  }
  out_ += line + "\n";
}

std::vector<size_t> TextReport::Widths(const Grid& grid) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < grid.heads.size(); ++c) {
    size_t width = 0;
    for (const auto& head : HeadLines(grid.heads[c].text)) width = std::max(width, Columns(head));
    for (const auto& row : grid.rows) width = std::max(width, Columns(row[c]));
    widths.push_back(width);
  }
  // The widest left-aligned column gives way until all fit.
  size_t all = 2 * widths.size();
  for (size_t width : widths) all += width;
  while (!whole_ && all > width_) {
    size_t widest = widths.size();
    for (size_t c = 0; c < widths.size(); ++c) {
      if (grid.heads[c].right || widths[c] <= 12) continue;
      if (widest == widths.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == widths.size()) break;
    --widths[widest];
    --all;
  }
  return widths;
}

void TextReport::AddGrid(const Grid& grid) {
  if (grid.heads.empty()) return;
  const std::vector<size_t> widths = Widths(grid);
  const auto line = [&](auto cell) {
    std::string text;
    for (size_t c = 0; c < widths.size(); ++c) {
      text += "  " + Pad(Cut(cell(c), widths[c]), widths[c], grid.heads[c].right);
    }
    text.resize(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::vector<std::vector<std::string>> heads;
  size_t lines = 0;
  for (const Grid::Head& head : grid.heads) {
    heads.push_back(HeadLines(head.text));
    lines = std::max(lines, heads.back().size());
  }
  for (size_t i = 0; i < lines; ++i) {
    const std::string text = line([&](size_t c) {
      const size_t above = lines - heads[c].size();
      return i < above ? std::string() : heads[c][i - above];
    });
    out_ += Paint(kDim, text) + "\n";
  }
  for (size_t row = 0; row < grid.rows.size(); ++row) {
    const std::string text = line([&](size_t c) { return grid.rows[row][c]; });
    const bool total = grid.last_is_total && row + 1 == grid.rows.size();
    out_ += (total ? Paint(kBold, text) : text) + "\n";
  }
}

std::string TextReport::Render(const Document& document) {
  for (const std::string& answer : document.headline) Wrap(answer, "", "");
  for (const std::string& gap : document.gaps) Wrap(gap, Paint(kYellow, "!") + " ", "  ");
  if (document.gaps.empty() && document.headline.empty())
    out_ += "Nothing is missing: every recorded event is here.\n";
  out_ += "\n" + Paint(kBold, document.title) + "\n";
  for (const std::string& text : document.verdict.before) Wrap(text, "  ", "    ");
  if (!document.verdict.before.empty()) out_ += "\n";
  size_t key_width = 0;
  for (const auto& fact : document.facts) key_width = std::max(key_width, Columns(fact.first));
  for (const auto& [key, value] : document.facts) {
    Wrap(value, "  " + Pad(key, key_width, false) + "  ", std::string(key_width + 4, ' '));
  }
  for (const Section& section : document.sections) {
    out_ += "\n" + Paint(kBold, section.heading) + "\n";
    for (const std::string& text : section.before) Wrap(text, "  ", "  ");
    AddGrid(section.grid);
    for (const std::string& text : section.after) Wrap(text, "  ", "  ");
  }
  out_ += "\n" + Paint(kBold, "Where to look next") + "\n";
  size_t what_width = 0;
  for (const auto& next : document.next) what_width = std::max(what_width, Columns(next.second));
  for (const auto& [command, what] : document.next) {
    out_ += "  " + Pad(what, what_width, false) + "  " + command + "\n";
  }
  return std::move(out_);
}

}  // namespace

std::string RenderText(const ReportData& data, const TextOptions& options) {
  DocumentOptions document;
  document.layer_columns = static_cast<size_t>(std::clamp((options.width - 56) / 12, 2, 7));
  if (!options.whole) document.sentence_bytes = kMaxPageSentence;
  return RenderText(MakeDocument(data, document), options);
}

std::string RenderText(const Document& document, const TextOptions& options) {
  return TextReport(options).Render(document);
}

}  // namespace crosscut::report
