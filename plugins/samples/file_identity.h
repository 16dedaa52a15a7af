// Which build of a library a process ran: functions are named where the run is read, and the file
// may be another one by then.
#pragma once

#include <string>

namespace crosscut::samples {

// "build-id:" and the GNU build id in hexadecimal digits; of a file that has none "file:", its size
// and the nanosecond of its last change; "" where it cannot be read. Opens the file for a moment.
std::string IdentityOf(const std::string& path);

}  // namespace crosscut::samples
