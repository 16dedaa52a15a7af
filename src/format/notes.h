// What processes left word of in a run directory that could not be recorded themselves: files
// note-*.txt. note-PID.txt is of one process; note-children-REASON.txt tells in its first line of
// one child that was started without us, and holds an end of line for each (plugins/preload).
#pragma once

#include <string>
#include <vector>

namespace crosscut::format {

// A sentence each, without its point, in order of the files' names; empty files are left out.
std::vector<std::string> ReadNotes(const std::string& run_dir);

}  // namespace crosscut::format
