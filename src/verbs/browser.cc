#include "src/verbs/browser.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "src/base/lists.h"

namespace crosscut::verbs {
namespace {

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// Each a command of the shell whose first argument is the URL.
std::vector<std::string> Browsers(bool display) {
  std::vector<std::string> out;
  const char* listed = std::getenv("BROWSER");
  for (const std::string_view part : base::Split(listed == nullptr ? "" : listed, ':')) {
    std::string command(part);
    while (command.ends_with(' ') || command.ends_with('&')) command.pop_back();
    if (command.empty()) continue;
    const size_t place = command.find("%s");
    if (place == std::string::npos) {
      command += " \"$1\"";
    } else {
      command.replace(place, 2, "\"$1\"");
    }
    out.push_back(std::move(command));
  }
  if (display) out.emplace_back("xdg-open \"$1\"");
  return out;
}

[[noreturn]] void Become(const std::string& command, const std::string& url, bool alone) {
  if (alone) {
    setsid();
    const int nothing = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  }
  execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), "sh", url.c_str(), nullptr);
  _exit(127);
}

// Whether the process shows the page. One that is `alone` does so if it has not failed soon.
bool Shows(pid_t process, bool alone) {
  constexpr int kLooks = 150;
  constexpr timespec kBetween = {0, 20'000'000};
  int status = 0;
  for (int look = 0; look < kLooks || !alone; ++look) {
    const pid_t ended = waitpid(process, &status, alone ? WNOHANG : 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended != 0) return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    nanosleep(&kBetween, nullptr);
  }
  return true;
}

}  // namespace

std::string PageOf(const std::string& input) {
  std::error_code error;
  if (!std::filesystem::is_directory(input, error)) return input + ".html";
  return input + (input.ends_with('/') ? "" : "/") + "report.html";
}

std::string FileUrl(const std::string& path) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string url = "file://";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("/-._~").find(c) != std::string_view::npos) {
      url += c;
    } else {
      url += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return url;
}

std::string ShowPage(const std::string& path) {
  const bool display = IsSet("DISPLAY") || IsSet("WAYLAND_DISPLAY");
  for (const std::string& command : Browsers(display)) {
    const pid_t process = fork();
    if (process < 0) return "";
    if (process == 0) Become(command, FileUrl(path), display);
    if (Shows(process, display)) return command.substr(0, command.find(' '));
  }
  return "";
}

}  // namespace crosscut::verbs
