// The list of tables: what `crosscut table` prints and what every report is made of. Each room has
// a list of its own (list.cc); this is all of them.
//
// Texts in cells: operation "" is no operation, layers "" is nothing known, "(unlinked)" is device
// work without a known launch. Views choose their own words for the empty ones.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/analyze/table_entry.h"
#include "src/base/status.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// In the order in which `crosscut table` lists them and views show them.
std::span<const TableEntry> TableList();

// Their names, in the same order.
std::vector<std::string> TableNames();

// The entry of that name; null where there is none.
const TableEntry* FindTable(std::string_view name);

// The table called `name`. kNotFound, with the names that are near, where there is
// none. `context` was
// made for `trace`.
Result<Table> ComputeTable(const trace::Trace& trace, const Context& context,
                           std::string_view name);

}  // namespace crosscut::analyze
