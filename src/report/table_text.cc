#include "src/report/table_text.h"

#include <vector>

#include "src/base/lists.h"
#include "src/report/numbers.h"

namespace crosscut::report {
namespace {

using analyze::Column;
using analyze::Table;

// The cells of a column, one after the other. Neighbours often hold one text, however long it is:
// it is quoted once.
class CsvCells {
 public:
  explicit CsvCells(const Column& column) : column_(column) {}
  std::string_view At(size_t row) {
    const auto* texts = std::get_if<analyze::Texts>(&column_.cells);
    if (texts == nullptr) {
      cell_ = CsvNumber(column_, row);
    } else if (const std::string* text = &(*texts)[row]; text != text_) {
      text_ = text;
      cell_ = CsvText(*text);
    }
    return cell_;
  }

 private:
  const Column& column_;
  const std::string* text_ = nullptr;  // that cell_ is of: Texts holds each distinct one once
  std::string cell_;
};

std::string JsonCell(const Column& column, size_t row) {
  if (const auto* cells = std::get_if<analyze::Texts>(&column.cells)) {
    return JsonText((*cells)[row]);
  }
  return JsonNumber(column, row);
}

// What was put, a part at a time.
class Parts {
 public:
  explicit Parts(const TakeText& take) : take_(take) {}
  ~Parts() { Give(); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  void Put(std::string_view text) {
    part_ += text;
    if (part_.size() >= kPartBytes) Give();
  }

 private:
  static constexpr size_t kPartBytes = 64 << 10;
  void Give() {
    if (!part_.empty()) take_(part_);
    part_.clear();
  }
  const TakeText& take_;
  std::string part_;
};

}  // namespace

std::string CsvText(std::string_view text) {
  const bool formula =
      !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  bool special = false;  // four searches are many times as fast as one for any of four
  for (const char c : {',', '"', '\r', '\n'}) {
    special = special || text.find(c) != std::string_view::npos;
  }
  if (!formula && !special) return std::string(text);
  std::string out = formula ? "\"'" : "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string CsvNumber(const Column& column, size_t row) {
  if (const auto* cells = std::get_if<analyze::Integers>(&column.cells)) {
    return (*cells)[row] == analyze::kMissing ? "" : std::to_string((*cells)[row]);
  }
  return RealText(std::get<analyze::Reals>(column.cells)[row]);
}

std::string JsonNumber(const Column& column, size_t row) {
  const std::string text = CsvNumber(column, row);
  return text.empty() ? "null" : text;
}

void WriteCsv(const Table& table, const TakeText& take) {
  Parts out(take);
  for (size_t c = 0; c < table.columns.size(); ++c) {
    out.Put((c == 0 ? "" : ",") + CsvText(table.columns[c].name));
  }
  out.Put("\n");
  std::vector<CsvCells> columns(table.columns.begin(), table.columns.end());
  for (size_t row = 0; row < table.rows(); ++row) {
    for (size_t c = 0; c < columns.size(); ++c) {
      if (c != 0) out.Put(",");
      out.Put(columns[c].At(row));
    }
    out.Put("\n");
  }
}

void WriteJson(const Table& table, const TakeText& take) {
  Parts out(take);
  out.Put("{\"table\": " + JsonText(table.name) + ", \"rows\": " + std::to_string(table.rows()) +
          ", \"notes\": [" + base::Joined(table.notes, ", ", JsonText) + "], \"columns\": {");
  for (size_t c = 0; c < table.columns.size(); ++c) {
    out.Put((c == 0 ? "\n  " : ",\n  ") + JsonText(table.columns[c].name) + ": [");
    for (size_t row = 0; row < table.rows(); ++row) {
      if (row != 0) out.Put(", ");
      out.Put(JsonCell(table.columns[c], row));
    }
    out.Put("]");
  }
  out.Put("}}\n");
}

}  // namespace crosscut::report
