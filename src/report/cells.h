// Reads cells of a table, which may lack the column or be missing itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/analyze/table.h"

namespace crosscut::report {

class Cells {
 public:
  // `table` may be null and must outlive this object and the texts it returns.
  explicit Cells(const analyze::Table* table) : table_(table) {}
  size_t rows() const { return table_ == nullptr ? 0 : table_->rows(); }
  // kMissing, NaN or "" where there is no such row, no such column, or one of another type.
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
