// What stands out, in sentences: the table findings. Each sentence gives a number and the table
// that it comes from.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, message, table, value_ns (the time at stake). The largest value_ns stands first;
// findings about memory have none and stand last.
Table FindingsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
