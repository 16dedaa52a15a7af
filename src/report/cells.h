// Reading cells of a table that may lack the column or the table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/analyze/table.h"

namespace crosscut::report {

class Cells {
 public:
  explicit Cells(const analyze::Table* table) : table_(table) {}
  size_t rows() const { return table_ == nullptr ? 0 : table_->rows(); }
  // kMissing, NaN, "" where there is no such column, or one of another type.
  int64_t Int(std::string_view column, size_t row) const;
  double Real(std::string_view column, size_t row) const;
  std::string_view Text(std::string_view column, size_t row) const;
  bool Has(std::string_view column) const {
    return table_ != nullptr && table_->Find(column) != nullptr;
  }

 private:
  const analyze::Table* table_;
};

}  // namespace crosscut::report
