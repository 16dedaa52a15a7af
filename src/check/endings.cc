// C16: how the process ends with the plugin in it.
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <thread>

#include "src/check/harness/barrier.h"
#include "src/check/tests.h"

namespace crosscut::check {
namespace {

[[noreturn]] void End(int code) {
  Guarded(Call::kExit, [code] { exit(code); });
  __builtin_unreachable();
}

struct Way {
  const char* name;
  int wait_status;  // that the process must end with
  void (*run)(Plugin*);
};
constexpr Way kWays[] = {
    {"exit(0) after a session", 0, [](Plugin*) { End(0); }},
    {"exit(7) after a session", 7 << 8, [](Plugin*) { End(7); }},
    {"_exit(3) while recording", 3 << 8,
     [](Plugin* p) {
       p->Start();
       WorkNow(kSomeWork);
       _exit(3);
     }},
    {"exit(4) while recording", 4 << 8,
     [](Plugin* p) {
       p->Start();
       WorkNow(kSomeWork);
       End(4);
     }},
    {"abort() while recording", SIGABRT,
     [](Plugin* p) {
       p->Start();
       abort();
     }},
    {"exit(5) while another thread collects", 5 << 8,
     [](Plugin* p) {
       std::thread([p] {
         for (;;) RunSession(p, {kSomeWork, Collect::kFull, 0});
       }).detach();
       usleep(3000);
       End(5);
     }},
    {"dlclose after a session", 6 << 8,
     [](Plugin* p) {
       void* handle = p->handle();
       Guarded(Call::kUnload, [handle] { dlclose(handle); });
       usleep(1000);
       _exit(6);
     }},
};

void Try(const Way& way, bool with_push_table) {
  Phase(way.name);
  const Ending ending = InFork([&] {
    auto plugin = Plugin::Make(with_push_table);
    if (plugin == nullptr) _exit(99);
    RunSession(plugin.get(), {kSomeWork, Collect::kFull, 0});
    way.run(plugin.release());
  });
  if (ending.wait_status == way.wait_status) return;
  if (ending.crashed()) {
    Fail("C16.crash", std::string("the process crashes at ") + way.name + " (signal " +
                          std::to_string(WTERMSIG(ending.wait_status)) +
                          "): do nothing in destructors of statics and in atexit handlers");
    return;
  }
  Fail("C16.status", std::string("the process ends with exit status ") +
                         std::to_string(WEXITSTATUS(ending.wait_status)) + " at " + way.name +
                         ": a plugin must not change how the program ends");
}

}  // namespace

void RunEndings() {
  for (const bool with : {false, true}) {
    for (const Way& way : kWays) Try(way, with);
  }
}

}  // namespace crosscut::check
