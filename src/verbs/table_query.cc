#include "src/verbs/table_query.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/base/lists.h"
#include "src/base/nearest.h"
#include "src/base/quantity.h"

namespace crosscut::verbs {
namespace {

using analyze::Column;
using analyze::Integers;
using analyze::Reals;
using analyze::Table;
using analyze::Texts;
using Rows = std::vector<size_t>;
using Number = long double;  // holds each int64 exactly

Result<const Column*> FindColumn(const Table& table, std::string_view name) {
  if (const Column* column = table.Find(name)) return column;
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(column.name);
  const std::string near = base::DidYouMean(name, names);
  return Status::Unsupported("table " + table.name + " has no column " + std::string(name) + near +
                             (near.empty() ? "; its" : " Its") + " columns are " +
                             base::Joined(names, ", "));
}

bool HasUnit(std::string_view column, std::string_view unit) {
  return column == unit || column.ends_with("_" + std::string(unit));
}

// A decimal number, whatever the locale, and what stands behind it. Not finite where there is none.
template <class Real>
std::pair<Number, std::string> ReadNumber(const std::string& text) {
  Real number = 0;
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(begin, end, number);
  return {error == std::errc() ? Number{number} : NAN, {at, end}};
}

// False where `text` is no number in the column's unit.
bool ParseNumber(const Column& column, const std::string& text, Number* number) {
  // With the precision of the cells: no real is 0.1 itself.
  const auto [value, unit] = std::holds_alternative<Reals>(column.cells) ? ReadNumber<double>(text)
                                                                         : ReadNumber<Number>(text);
  const std::string one = "1e0" + unit;
  double size = 0;  // of the unit
  if (!std::isfinite(value)) return false;
  if (unit.empty()) {
    *number = value;
  } else if (HasUnit(column.name, "ns") && base::ParseSeconds(one.c_str(), &size)) {
    *number = std::round(value * std::round(Number{size} * 1e9L));
  } else if (HasUnit(column.name, "bytes") && base::ParseMebibytes(one.c_str(), &size)) {
    *number = value * Number{size} * (1 << 20);
  } else {
    return false;
  }
  return true;
}

// False where the cell is not known.
bool NumberAt(const Column& column, size_t row, Number* number) {
  if (const auto* integers = std::get_if<Integers>(&column.cells)) {
    *number = static_cast<Number>((*integers)[row]);
    return (*integers)[row] != analyze::kMissing;
  }
  *number = std::get<Reals>(column.cells)[row];
  return !std::isnan(*number);
}

struct Condition {
  const Column* column = nullptr;
  std::string op;
  std::string text;  // of texts
  Number number = 0;
};

bool IsText(const Column& column) { return std::holds_alternative<Texts>(column.cells); }

constexpr std::string_view kOperators[] = {"==", "!=", "<=", ">=", "=", "<", ">", "~"};

Result<Condition> Parse(const Table& table, std::string_view text) {
  const auto wrong = [&](const std::string& why) {
    return Status::Unsupported("\"" + std::string(text) + "\": " + why);
  };
  const size_t at = text.find_first_of("=!<>~");
  Condition condition;
  for (const std::string_view op : kOperators) {
    if (at == std::string_view::npos || !text.substr(at).starts_with(op)) continue;
    condition.op = op == "==" ? "=" : op;
    condition.text = base::Trimmed(text.substr(at + op.size()));
    break;
  }
  if (condition.op.empty()) {
    return wrong("a condition is COLUMN OP VALUE, where OP is = != < <= > >= or ~ (contains)");
  }
  auto column = FindColumn(table, base::Trimmed(text.substr(0, at)));
  if (!column.ok()) return column.status();
  condition.column = *column;
  const std::string& name = condition.column->name;
  if (IsText(*condition.column)) {
    if (condition.op[0] != '<' && condition.op[0] != '>') return condition;
    return wrong(name + " holds texts, which are compared by = != or ~ (contains)");
  }
  if (condition.op == "~") return wrong(name + " holds numbers, which contain nothing");
  if (ParseNumber(*condition.column, condition.text, &condition.number)) return condition;
  return wrong(condition.text + " is no number" +
               (HasUnit(name, "ns")      ? "; write 1500, 1.5us, 2ms or 1s"
                : HasUnit(name, "bytes") ? "; write 4096, 64K or 2M"
                                         : ""));
}

bool Compare(std::partial_ordering order, const std::string& op) {
  if (op == "=") return std::is_eq(order);
  if (op == "!=") return std::is_neq(order);
  if (op == "<") return std::is_lt(order);
  if (op == "<=") return std::is_lteq(order);
  return op == ">" ? std::is_gt(order) : std::is_gteq(order);
}

bool Meets(const Condition& condition, size_t row) {
  if (const auto* texts = std::get_if<Texts>(&condition.column->cells)) {
    const std::string& cell = (*texts)[row];
    if (condition.op == "~") return cell.find(condition.text) != std::string::npos;
    return (cell == condition.text) == (condition.op == "=");
  }
  Number number = 0;
  return NumberAt(*condition.column, row, &number) &&
         Compare(number <=> condition.number, condition.op);
}

void Sort(const Column& column, bool descending, Rows* rows) {
  if (const auto* texts = std::get_if<Texts>(&column.cells)) {
    std::stable_sort(rows->begin(), rows->end(), [&](size_t a, size_t b) {
      return descending ? (*texts)[b] < (*texts)[a] : (*texts)[a] < (*texts)[b];
    });
    return;
  }
  std::stable_sort(rows->begin(), rows->end(), [&](size_t a, size_t b) {
    Number of_a = 0, of_b = 0;
    const bool has_a = NumberAt(column, a, &of_a), has_b = NumberAt(column, b, &of_b);
    if (!has_a || !has_b) return has_a && !has_b;
    return descending ? of_b < of_a : of_a < of_b;
  });
}

Column Taken(const Column& column, const Rows& rows) {
  Column out{column.name, {}};
  std::visit(
      [&](const auto& cells) {
        std::decay_t<decltype(cells)> taken;
        taken.reserve(rows.size());
        for (const size_t row : rows) taken.push_back(cells[row]);
        out.cells = std::move(taken);
      },
      column.cells);
  return out;
}

std::string CountOfRows(size_t count) {
  return std::to_string(count) + (count == 1 ? " row" : " rows");
}

}  // namespace

Result<Table> Select(const Table& table, const TableQuery& query) {
  std::vector<Condition> conditions;
  for (const std::string& text : query.where) {
    auto condition = Parse(table, text);
    if (!condition.ok()) return condition.status().At("--where");
    conditions.push_back(std::move(*condition));
  }
  Rows rows(table.rows());
  std::iota(rows.begin(), rows.end(), size_t{0});
  std::erase_if(rows, [&](size_t row) {
    return !std::all_of(conditions.begin(), conditions.end(),
                        [row](const Condition& condition) { return Meets(condition, row); });
  });
  if (!query.sort.empty()) {
    const bool descending = query.sort.starts_with('-');
    const auto column = FindColumn(table, std::string_view(query.sort).substr(descending ? 1 : 0));
    if (!column.ok()) return column.status().At("--sort");
    Sort(**column, descending, &rows);
  }
  Table out{table.name, {}, table.notes};
  const size_t met = rows.size();
  if (met < table.rows()) {
    out.notes.push_back(CountOfRows(met) + " of " + std::to_string(table.rows()) +
                        " meet the conditions");
  }
  if (query.limit < met) {
    rows.resize(query.limit);
    out.notes.push_back("the first " + CountOfRows(query.limit) + " of " + std::to_string(met));
  }
  for (const Column& column : table.columns) out.columns.push_back(Taken(column, rows));
  return out;
}

}  // namespace crosscut::verbs
