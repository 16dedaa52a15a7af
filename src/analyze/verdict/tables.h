// The tables of what bounds the program: the block at the top of every view, and by line.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// What bounds the program, with its evidence: the block at the top of every view.
// process, rank (1: the first), cause, headline (a sentence), share (of the process's steps, or of
// its window where it has none), gain_share, gain_low_share, gain_high_share (what removing it
// could bring at most: the part of the steps that nothing hides, an upper bound, with a 95 %
// interval from how blocks of steps differ; NaN under 10 steps), blame (a line of the
// program, or a name), evidence (a sentence), table (that says more), action (one thing to do). The
// process in which a burden weighs most comes first. A process without a cause that stands out has
// a row with cause `none`.
Table VerdictTable(const trace::Trace& trace, const Context& context);

// Each part of a window by what was done in it: operations by name, and the time outside of them by
// the line of the program.
// process, part (window_parts), work, what ("operation", "line", "import", "library", "exit",
// "none"), layers, device, ns, corrected_ns, samples, low_ns, high_ns (95 % bounds of ns; the last
// three kMissing but for lines). The rows of a process and part sum to its wall_ns in window_parts,
// and by layers to `overlap`. Operations are exact. Outside of operations the line is that of who
// works then: of the lead, or of the threads that it waits for; thread_lines.h says which. What
// nothing tells has work "" and what "none". The longest work of a part first.
Table PartWorkTable(const trace::Trace& trace, const Context& context);

// What takes long beside the observed steps (or beside requests, where there are no steps), such as
// an evaluation. Nothing is known of control steps.
// process, work, what ("operation", "line"), ns (in the other parts of the window), observed_ns (in
// the observed steps), more_ns (the part of ns that is not as in the observed steps: in left-out
// steps what is more than there; of a line for certain, by its bounds), most_in (the part
// of the window that has most of more_ns), line (of an operation: where samples saw the lead in it
// then, most of the time; "": nowhere), samples (there; kMissing: none), finding (a sentence, ""
// where more_ns is below a tenth of the window or half of ns). A row for each whose more_ns is a
// hundredth of the window at least, the largest of a process first.
Table BesideStepsTable(const trace::Trace& trace, const Context& context);

// Each thread's time by line.
// process, thread, line, what (as in part_work), layer (in which the thread was there; "" where
// none is known), ns, low_ns, high_ns (95 % bounds; kMissing where no line is known), samples. The
// rows of a thread sum to its life_ns in thread_lives. Threads without a sample have none. The
// longest line of a thread first.
Table LinesTable(const trace::Trace& trace, const Context& context);

// Steps that take longer from some step on, up to one, for a while, or more and more.
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
