// Which rows of a table are wanted, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/analyze/table.h"
#include "src/base/status.h"

namespace crosscut::verbs {

struct TableQuery {
  // Conditions that a row must all meet: "COLUMN OP VALUE" with = != < <= > >= or ~, which is
  // "contains"; texts have only = != and ~. Plain numbers are in the column's unit; for times
  // ("ns",
  // "*_ns") base::ParseSeconds reads 1.5ms, for sizes ("bytes", "*_bytes") base::ParseMebibytes 2M.
  // A cell that is not known meets none.
  std::vector<std::string> where = {};
  std::string sort = {};    // a column; "-" in front: descending. Unknown cells come last
  size_t limit = SIZE_MAX;  // the first so many rows that are left

  bool all() const { return where.empty() && sort.empty() && limit == SIZE_MAX; }
};

// The rows that `query` wants; a note says how many there were where some are left out.
// kUnsupported, with the names that are near, for a column that the table lacks, and for what is no
// condition.
Result<analyze::Table> Select(const analyze::Table& table, const TableQuery& query);

}  // namespace crosscut::verbs
