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

// Recorded processes that a lead may wait for when it waits for any of several files, or for
// whoever connects: one that it started and that lives; where another started it, others that work
// just then. Else it waits for a thread of its own, where one works.
struct Relatives {
  bool child, others;
};

// `layers`: those that are active in the process.
Cause CauseOnHost(LayerSet layers, const LeadStretch& lead, Purpose purpose, Relatives relatives);

// What goes on while the lead waits, by the layers that work: kWaiting where none does.
Cause BehindLead(LayerSet layers);

}  // namespace crosscut::analyze
