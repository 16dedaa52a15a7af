// Steps that take longer from some step on, up to one, for a while, or more and more.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, kind, shape ("begins", "ends", "spell", "alternates", "grows", "shrinks"), first_step,
// last_step (where the longer steps are; "grows" and "shrinks": all), spells (stretches of longer
// steps), usual_ns, changed_ns (medians of the others and of the longer ones; "grows" and
// "shrinks": of the shorter and the longer of the first and last third), total_ns (what the longer
// ones take beyond usual_ns), delay_ns (of changed_ns - usual_ns, what the lead waited for a
// processor, where samples tell), operation and line (where a third of the difference is, or more),
// finding (a sentence, "" where little is at stake or the processors were busy).
//
// Compared are steps at the level that most of them have, without those in which the probes were
// switched, by FindChanges. What is longer than the rest and ends in the first fifth is warm-up.
Table StepChangesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
