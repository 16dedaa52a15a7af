#include "src/report/cells.h"

#include <limits>

namespace crosscut::report {
namespace {

template <class Column>
const Column* Find(const analyze::Table* table, std::string_view name, size_t row) {
  const analyze::Column* column = table == nullptr ? nullptr : table->Find(name);
  const auto* cells = column == nullptr ? nullptr : std::get_if<Column>(&column->cells);
  return cells == nullptr || row >= cells->size() ? nullptr : cells;
}

}  // namespace

int64_t Cells::Int(std::string_view column, size_t row) const {
  const auto* cells = Find<analyze::Integers>(table_, column, row);
  return cells == nullptr ? analyze::kMissing : (*cells)[row];
}

double Cells::Real(std::string_view column, size_t row) const {
  const auto* cells = Find<analyze::Reals>(table_, column, row);
  return cells == nullptr ? std::numeric_limits<double>::quiet_NaN() : (*cells)[row];
}

std::string_view Cells::Text(std::string_view column, size_t row) const {
  const auto* cells = Find<analyze::Texts>(table_, column, row);
  return cells == nullptr ? std::string_view() : std::string_view((*cells)[row]);
}

}  // namespace crosscut::report
