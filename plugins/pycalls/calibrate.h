// What one event of each probe costs on this machine, told by crosscut_probe_cost().
//
// The events are written as in a recording, by the inline path, but into a buffer of our own: the
// calling thread's state is exchanged for the time of the measurement. Under the GIL, recording
// off on this thread; about a millisecond.
#pragma once

namespace crosscut::pycalls {

void CalibrateBoundary();
void CalibrateCollections();
// Only while the hook on calls is out.
void CalibrateCalls();

}  // namespace crosscut::pycalls
