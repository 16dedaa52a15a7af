// Notes that processes left in a run directory because something could not be recorded: files
// note-*.txt. note-PID.txt is from one process. note-children-REASON.txt describes in its first
// line one child that was started without Crosscut, and has a line end for each such child
// (plugins/preload). One more says how the command ended, where it did not end well.
#pragma once

#include <string>
#include <vector>

namespace crosscut::format {

// Of how the command ended.
inline constexpr char kEndNote[] = "note-ended.txt";

// A sentence for each file, without its full stop: that of the end first, then in order of the
// files' names. Empty files are left out.
std::vector<std::string> ReadNotes(const std::string& run_dir);

}  // namespace crosscut::format
