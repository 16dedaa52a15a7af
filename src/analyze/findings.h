// What stands out, in sentences: table findings. Each tells a number and the table it comes from.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// The most weighty first, by the time that is at stake (value_ns).
Table FindingsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
