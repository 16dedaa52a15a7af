// The verb `open`: where the page of an input is, and showing it.
#pragma once

#include <string>

namespace crosscut::verbs {

// report.html in a run directory, else the file's name with .html behind it.
std::string PageOf(const std::string& input);

// "file:///..." of an absolute path.
std::string FileUrl(const std::string& path);

// Shows the file in a browser: by the commands of $BROWSER (joined by ":", "%s" is the URL), else,
// where there is a display, by xdg-open. With a display the browser goes on by itself; without one
// it has the terminal, and this waits for its end. Returns the command that did it, "" where none
// could.
std::string ShowPage(const std::string& path);

}  // namespace crosscut::verbs
