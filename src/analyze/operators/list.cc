#include "src/analyze/operators/tables.h"
#include "src/analyze/recorded_by.h"
#include "src/analyze/table_entry.h"

namespace crosscut::analyze {
namespace {

constexpr TableEntry kTables[] = {
    {.name = "operators",
     .shows = Shows::kOperators,
     .description = "operators by what they were called with: calls, time, FLOPs",
     .compute = OperatorsTable,
     .title = "Operators by their inputs",
     .explanation = "Shapes where they were recorded (--shapes); FLOPs of all calls, by the "
                    "formulas that the documentation states.",
     .largest_by = "self_ns",
     .unfolded = true,
     .recorded_by = kByFrameworks},
    {.name = "modules",
     .shows = Shows::kOperators,
     .description = "modules of a network: their calls, and the backward time that they caused",
     .compute = ModulesTable,
     .title = "Modules",
     .explanation = "Calls of each module of a network, less those of the modules that it calls "
                    "(self), and the backward time that its operators caused.",
     .largest_by = "self_ns",
     .unfolded = true,
     .recorded_by = kByFrameworks},
    {.name = "backward",
     .shows = Shows::kOperators,
     .description = "backward time by the forward operator, module and operation that caused it",
     .compute = BackwardTable,
     .title = "Backward, by what caused it",
     .explanation = "Time in autograd's nodes by the forward operator that made them, and where "
                    "that ran. Without an operator: gradients that are added up.",
     .largest_by = "backward_ns",
     .unfolded = true,
     .recorded_by = kByFrameworks},
    {.name = "operator_stacks",
     .shows = Shows::kSpans,
     .description = "operators by the Python lines that called them, and what they launched",
     .compute = OperatorStacksTable,
     .long_one = true,
     .recorded_by = kByFrameworks},
};

}  // namespace

std::span<const TableEntry> OperatorTables() { return kTables; }

}  // namespace crosscut::analyze
