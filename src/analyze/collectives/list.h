#pragma once

#include <span>

#include "src/analyze/table_entry.h"

namespace crosscut::analyze {

// The tables of this room, in the order in which views show them.
std::span<const TableEntry> CollectiveTables();

}  // namespace crosscut::analyze
