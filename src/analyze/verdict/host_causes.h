// What an instant is spent on while no device works, by what the host does.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/analyze/layer_set.h"
#include "src/analyze/verdict/cause.h"
#include "src/analyze/verdict/lead_states.h"

namespace crosscut::analyze {

enum class Purpose : uint8_t { kOther, kInput, kSimulation };

// Operations that adapters find, or that programs name so, and that say what they are for.
Purpose PurposeOf(std::string_view operation);

// `layers`: those that are active in the process. `has_child`: one that it started lives; else a
// lead that waits for any of several files waits for a thread of its own, where one works.
Cause CauseOnHost(LayerSet layers, const LeadStretch& lead, Purpose purpose, bool has_child);

// What goes on while the lead waits, by the layers that work: kWaiting where none does.
Cause BehindLead(LayerSet layers);

}  // namespace crosscut::analyze
