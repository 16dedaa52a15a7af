// Programs that this one starts. Under `crosscut record` each start takes longer: Crosscut's
// preloaded library looks at the program first, and is loaded into most.
#pragma once

namespace crosscut::record {

// Once, when the library is loaded: from here on the preloaded library, where there is one, tells
// of each start, on the thread that makes it. In a child of vfork(), too, which is that thread in
// all but its number. An event then stands for what the start costs more. `owns`: whether the log
// is this process's; not so in such a child.
void FollowStarts(bool (*owns)());

// At each pass of the drain, on its thread: once a program was started with the library, or without
// it, measures what that costs more and tells it by crosscut_probe_cost(). Each of the two once per
// process; half a millisecond.
void CalibrateStarts();

}  // namespace crosscut::record
