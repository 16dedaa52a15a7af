// An entry of the list of tables: how a table is made, and all that views need to show it.
#pragma once

#include <span>
#include <string_view>

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/analyze/table_notes.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

struct TableEntry {
  const char* name = nullptr;
  Shows shows = Shows::kFacts;
  const char* description = nullptr;  // one line: `crosscut table` lists it
  Table (*compute)(const trace::Trace&, const Context&) = nullptr;
  bool long_one = false;              // a row per event or stack: reports leave it out; no title
  const char* title = nullptr;        // of its section: "Operations"
  const char* explanation = nullptr;  // what a row is and how to read it, for a newcomer
  // Views order the rows by this column, largest first, and keep processes together; null: in the
  // table's order.
  const char* largest_by = nullptr;
  bool unfolded = false;  // views that fold show it open at first
  // How what the rows show comes into a recording, a sentence for who finds none; null: a recording
  // has it without being asked.
  const char* recorded_by = nullptr;
  // Why a recording, with steps or without, has no rows; "" where nothing of the kind happened.
  std::string_view WhyEmpty(bool has_steps) const;

  // Computes the table and adds its notes, such as from how many steps it comes where that is not
  // all of them, or how its rows would be recorded where there are none. `context` was made for
  // `trace`.
  Table Make(const trace::Trace& trace, const Context& context) const;
};

// The tables of each room, in the order in which views show them: its list.cc.
std::span<const TableEntry> AccountingTables();
std::span<const TableEntry> CollectiveTables();
std::span<const TableEntry> DeviceTables();
std::span<const TableEntry> MemoryTables();
std::span<const TableEntry> OperatorTables();
std::span<const TableEntry> ProcessTables();
std::span<const TableEntry> StepTables();
std::span<const TableEntry> TimeTables();
std::span<const TableEntry> VerdictTables();

}  // namespace crosscut::analyze
