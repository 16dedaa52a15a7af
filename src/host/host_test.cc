// The controller against plugins that keep the contract and plugins that break it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "src/base/testing/emulator.h"
#include "src/host/collect_buffer.h"
#include "src/host/plugin.h"
#include "src/host/program_options.h"
#include "src/host/registration.h"

// TensorFlow's status functions as a program exports them that has TensorFlow in it.
struct TSL_Status {
  TF_Code code = TF_OK;
  std::string message;
};
extern "C" {
__attribute__((visibility("default"))) TF_Status* TF_NewStatus() { return new TSL_Status; }
__attribute__((visibility("default"))) void TF_DeleteStatus(TF_Status* status) { delete status; }
__attribute__((visibility("default"))) void TF_SetStatus(TF_Status* status, TF_Code code,
                                                         const char* message) {
  *status = {code, message};
}
__attribute__((visibility("default"))) TF_Code TF_GetCode(const TF_Status* status) {
  return status->code;
}
__attribute__((visibility("default"))) const char* TF_Message(const TF_Status* status) {
  return status->message.c_str();
}
}

namespace crosscut::host {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

std::mutex heard_mutex;
std::vector<std::string> told, collected;
std::set<std::string> holding;  // plugins

std::string Last(const std::vector<std::string>& of) {
  const std::lock_guard lock(heard_mutex);
  return of.empty() ? "" : of.back();
}

class HostTest : public testing::Test {
 protected:
  HostTest() {
    const std::lock_guard lock(heard_mutex);
    told.clear();
    collected.clear();
    holding.clear();
    static int count = 0;
    folder_ = testing::TempDir() + "crosscut-host-" + std::to_string(getpid()) + "-" +
              std::to_string(count++);
    std::filesystem::create_directories(folder_);
    around_.hooks.tell = [](const char* name, const char*, const char* state, const char* why) {
      const std::lock_guard lock(heard_mutex);
      told.push_back(std::string(name) + " " + state + ": " + (why == nullptr ? "" : why));
    };
    around_.hooks.holds = [](const char* name, bool holds) {
      const std::lock_guard lock(heard_mutex);
      if (holds) {
        holding.insert(name);
      } else {
        holding.erase(name);
      }
    };
    around_.hooks.probe_cost = [](uint32_t, const int64_t*) {};
    around_.hooks.collected = [](const char*, const void* bytes, size_t size,
                                 int64_t) -> const char* {
      const std::lock_guard lock(heard_mutex);
      collected.emplace_back(static_cast<const char*>(bytes), size);
      return nullptr;
    };
    around_.hooks.idle = [] {};
    around_.hooks.loaded = [] {};
    around_.call_changed = [] {};
    around_.limits.load = around_.limits.stop = around_.limits.collect = 100'000'000;
    around_.limits.start = around_.limits.flush = 100'000'000;
  }
  ~HostTest() override { std::filesystem::remove_all(folder_); }

  // Each with a file, and so with variables, of its own. Plugins stay: their threads do.
  Plugin* Load(const std::string& mode) { return LoadWith(",mode=" + mode); }
  Plugin* LoadWith(const std::string& options) {
    const std::string file = folder_ + "/libscripted" + std::to_string(files_++) + ".so";
    std::filesystem::copy_file(SCRIPTED_PLUGIN, file);
    auto* plugin = Kept(new Plugin((file + options).c_str(), &around_));
    EXPECT_TRUE(plugin->Begin());
    Settle(plugin);
    return plugin;
  }
  static void Settle(Plugin* plugin) {
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (plugin->Busy() && Clock::now() < end) usleep(200);
    EXPECT_FALSE(plugin->Busy()) << "it never came to rest";
  }
  void Round(Plugin* plugin) {
    plugin->Start();
    Settle(plugin);
    plugin->Stop();
    Settle(plugin);
  }

  // Plugins and their threads stay, and so does what they look at.
  template <class T>
  static T* Kept(T* object) {
    static auto* kept = new std::vector<const void*>;
    kept->push_back(object);
    return object;
  }

  Surroundings& around_ = *Kept(new Surroundings);
  std::string folder_;
  int files_ = 0;
};

TEST_F(HostTest, CallsComeInOrderAndOnlyOnceASession) {
  Plugin* plugin = Load("");
  Round(plugin);
  EXPECT_THAT(Last(collected), StartsWith("init start stop size bytes"));
  Round(plugin);
  EXPECT_THAT(Last(collected), StartsWith("start stop size bytes"));
  plugin->Stop();
  plugin->Stop();
  plugin->Start();
  plugin->Start();
  Settle(plugin);
  plugin->Stop();
  Settle(plugin);
  EXPECT_THAT(Last(collected), StartsWith("start stop size bytes"));
  EXPECT_EQ(collected.size(), 3u);
}

TEST_F(HostTest, DestroyComesOnceBehindTheLastCallHoweverOftenItIsAskedFor) {
  for (const bool sessions : {true, false}) {
    Plugin* plugin = LoadWith(",say=1");
    if (sessions) Round(plugin);
    if (sessions) plugin->Start();
    plugin->Stop();
    plugin->End();
    plugin->End();
    Settle(plugin);
    EXPECT_THAT(Last(told), testing::EndsWith(std::string(" on: ") + (sessions ? "" : "init ") +
                                              "destroy destroy_fns "));
    const size_t words = told.size();
    Round(plugin);
    plugin->End();
    plugin->SetLevel(3);
    Settle(plugin);
    EXPECT_EQ(told.size(), words);
  }
}

TEST_F(HostTest, WhatIsNotAskedForIsDestroyedAtOnceAndWhatFailedIsNot) {
  strcpy(around_.gate.device_type, "xpu");
  (void)LoadWith(",say=1");
  ASSERT_EQ(told.size(), 2U);
  EXPECT_THAT(told[0], HasSubstr("on: init destroy destroy_fns "));
  EXPECT_THAT(told[1], HasSubstr("off: devices of type"));
  around_.gate = {};
  told.clear();
  for (const char* mode : {"fail in init", "no destroy_profiler", "throw in init"}) {
    LoadWith(std::string(",say=1,mode=") + mode)->End();
  }
  EXPECT_THAT(told, testing::Each(Not(HasSubstr("destroy_fns "))));
}

TEST_F(HostTest, WhileItRecordsItHoldsWhatItHasNotHandedOver) {
  const auto held = [] {
    const std::lock_guard lock(heard_mutex);
    return holding.size();
  };
  Plugin* plugin = Load("");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(held(), 0u);
    plugin->Start();
    Settle(plugin);
    EXPECT_EQ(held(), 1u);
    plugin->Stop();
    Settle(plugin);
  }
  EXPECT_EQ(held(), 0u);
  Round(Load("throw in stop"));
  EXPECT_EQ(held(), 0u) << "it is told to have failed";
}

TEST_F(HostTest, SettingsOfAnyLengthReachThePlugin) {
  const std::string filler(6000, 'y');
  Round(LoadWith(",other=" + filler + ",mode=nothing"));
  EXPECT_TRUE(collected.empty());
  setenv("CROSSCUT_PLUGIN_OTHER", filler.c_str(), 1);
  setenv("CROSSCUT_PLUGIN_Mode", "nothing", 1);  // not in capitals: nobody's
  Round(LoadWith(""));
  EXPECT_EQ(collected.size(), 1u);
  setenv("CROSSCUT_PLUGIN_MODE", "nothing", 1);
  Round(LoadWith(""));
  EXPECT_EQ(collected.size(), 1u);
  for (const char* variable : {"OTHER", "Mode", "MODE"}) {
    unsetenv((std::string("CROSSCUT_PLUGIN_") + variable).c_str());
  }
}

TEST_F(HostTest, SettingsOfTheProgramComeBeforeOthersUntilTheyAreTakenBack) {
  ASSERT_TRUE(SetProgramOption("mode", "nothing"));
  Round(LoadWith(",mode=another"));
  EXPECT_TRUE(collected.empty());
  ASSERT_TRUE(SetProgramOption("mode", nullptr));
  Round(LoadWith(",mode=another"));
  EXPECT_EQ(collected.size(), 1u);
}

TEST(ProgramOptions, SettingsThatComeAgainTakeNoMemory) {
  const char* values[2];
  for (int i = 0; i < 10; ++i) {
    const std::string text = "value " + std::to_string(i % 2);
    ASSERT_TRUE(SetProgramOption("again", text.c_str()));
    const char* const now = ProgramOption("again");
    ASSERT_STREQ(now, text.c_str());
    if (i < 2) values[i] = now;
    EXPECT_EQ(now, values[i % 2]);
  }
  EXPECT_STREQ(values[0], "value 0") << "who was given it may keep it";
  ASSERT_TRUE(SetProgramOption("again", nullptr));
  EXPECT_EQ(ProgramOption("again"), nullptr);
}

struct Refused {
  const char* mode;
  const char* words;
};
class Registrations : public HostTest, public testing::WithParamInterface<Refused> {};

TEST_P(Registrations, ThatAreWrong_AreRefusedWithTensorFlowsCode) {
  Plugin* plugin = Load(GetParam().mode);
  EXPECT_THAT(Last(told), HasSubstr(GetParam().words));
  Round(plugin);
  EXPECT_TRUE(collected.empty());
}
INSTANTIATE_TEST_SUITE_P(
    Each, Registrations,
    testing::Values(Refused{"fail in init", "NOT_FOUND: no driver"},
                    Refused{"params size 0", "FAILED_PRECONDITION: params->struct_size"},
                    Refused{"no destroy_profiler", "FAILED_PRECONDITION: destroy_profiler is"},
                    Refused{"no destroy_profiler_fns",
                            "FAILED_PRECONDITION: destroy_profiler_fns is"},
                    Refused{"profiler size 0", "FAILED_PRECONDITION: profiler->struct_size"},
                    Refused{"profiler size small", "FAILED_PRECONDITION: profiler->device_type"},
                    Refused{"no device_type", "FAILED_PRECONDITION: profiler->device_type"},
                    Refused{"device_type with a digit", "FAILED_PRECONDITION: device_type 'XPU2'"},
                    Refused{"fns size 0", "FAILED_PRECONDITION: profiler_fns->struct_size"},
                    Refused{"no start", "FAILED_PRECONDITION: profiler_fns->start"},
                    Refused{"no stop", "FAILED_PRECONDITION: profiler_fns->stop"},
                    Refused{"no collect", "FAILED_PRECONDITION: profiler_fns->collect"},
                    Refused{"fns size small", "FAILED_PRECONDITION: profiler_fns->collect"},
                    Refused{"major version 9", "FAILED_PRECONDITION: it wants version 9"},
                    Refused{"everything", "FAILED_PRECONDITION: destroy_profiler_fns is"}));

TEST_F(HostTest, DeviceTypesAreCapitalsAndUnderscores) {
  for (const char* good : {"X", "XPU", "MY_CHIP", "A_"}) EXPECT_TRUE(IsDeviceType(good)) << good;
  for (const char* bad : {"", "_X", "xPU", "XPu", "X1", "X-Y", "X Y"}) {
    EXPECT_FALSE(IsDeviceType(bad)) << bad;
  }
  EXPECT_FALSE(IsDeviceType(std::string(64, 'X').c_str()));
}

TEST_F(HostTest, AFileThatIsNoPluginIsNamed) {
  const std::string file = folder_ + "/libtext.so";
  FILE* text = fopen(file.c_str(), "w");
  fputs("not a library", text);
  fclose(text);
  Plugin* plugin = Kept(new Plugin(file.c_str(), &around_));
  EXPECT_TRUE(plugin->Begin());
  Settle(plugin);
  EXPECT_THAT(Last(told), StartsWith("text failed: "));
}

TEST_F(HostTest, AStopComesThoughTheStartBeforeItWasLate) {
  Plugin* plugin = Load("slow in start");  // longer than it may take, and nobody looks
  plugin->Start();
  usleep(200'000);
  plugin->Stop();
  const auto handed_over = [] {
    const std::lock_guard lock(heard_mutex);
    return !collected.empty();
  };
  for (int naps = 0; naps < 20'000 && !handed_over(); ++naps) usleep(1000);
  EXPECT_THAT(Last(collected), HasSubstr("start stop size bytes"));
}

class Hangs : public HostTest, public testing::WithParamInterface<const char*> {};

TEST_P(Hangs, CostTheCallerNothingAndEndInQuarantine) {
  auto least = Clock::duration::max();  // of three: a busy machine makes any one of them long
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::string file = folder_ + "/libhangs" + std::to_string(attempt) + ".so";
    std::filesystem::copy_file(SCRIPTED_PLUGIN, file);
    auto* plugin = Kept(new Plugin((file + ",mode=hang in " + GetParam()).c_str(), &around_));
    const auto begin = Clock::now();
    ASSERT_TRUE(plugin->Begin());
    plugin->Start();
    plugin->Stop();
    plugin->End();
    least = std::min(least, Clock::now() - begin);
    Settle(plugin);
    EXPECT_THAT(Last(told), HasSubstr("did not return in time"));
    EXPECT_EQ(collected.empty(), GetParam() != std::string("destroy"));
    plugin->Start();
    EXPECT_FALSE(plugin->Busy());
  }
  EXPECT_LT(least, std::chrono::milliseconds(50));  // a caller that waits, waits for 100
}
INSTANTIATE_TEST_SUITE_P(Each, Hangs,
                         testing::Values("init", "start", "stop", "size", "bytes", "destroy"));

TEST_F(HostTest, WhatIsThrownEndsAtTheBarrierAndThePluginIsDoneFor) {
  for (const char* call : {"init", "start", "stop", "size", "bytes"}) {
    Plugin* plugin = Load(std::string("throw in ") + call);
    Round(plugin);
    EXPECT_THAT(Last(told), HasSubstr("it threw an exception: out of throw in ")) << call;
  }
  Plugin* thrower = Load("throw in destroy");
  thrower->End();
  Settle(thrower);
  EXPECT_THAT(Last(told), HasSubstr("it threw an exception: out of throw in destroy"));
  Round(Load("throw a number in stop"));
  EXPECT_THAT(Last(told), HasSubstr("not a std::exception"));
  EXPECT_TRUE(collected.empty());
}

TEST_F(HostTest, APluginThatEndsOurThreadIsFoundOutByItsDeadline) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "what the thread had in hand is never freed";
#endif
  Plugin* plugin = Load("end the thread in start");
  plugin->Start();
  Settle(plugin);
  EXPECT_THAT(Last(told), HasSubstr("start did not return in time"));
}

TEST_F(HostTest, AfterAnErrorTheRestOfTheSessionIsNotCalledAndTheNextIs) {
  Plugin* plugin = Load("fail in start");
  Round(plugin);
  EXPECT_THAT(Last(told), HasSubstr("start: UNAVAILABLE: no such device today"));
  EXPECT_TRUE(collected.empty());
  plugin = Load("fail in stop");
  Round(plugin);
  EXPECT_THAT(Last(told), HasSubstr("stop: INTERNAL: will not stop"));
  EXPECT_TRUE(collected.empty());
}

TEST_F(HostTest, SizesAreBelievedOnlyAsFarAsTheyHold) {
  Round(Load("nothing"));
  EXPECT_TRUE(collected.empty());
  Round(Load("never write the size"));
  EXPECT_TRUE(collected.empty());
  Round(Load("shrink"));
  EXPECT_EQ(Last(collected), "init ");
  Round(Load("grow once"));
  EXPECT_THAT(Last(collected), HasSubstr("size bytes size bytes"));
  const size_t before = collected.size();
  Round(Load("grow"));
  EXPECT_THAT(Last(told), HasSubstr("its size grew"));
  Round(Load("huge"));
  EXPECT_THAT(Last(told), HasSubstr("9223372036854775808 bytes are more than"));
  EXPECT_EQ(collected.size(), before);
}

TEST_F(HostTest, AByteBehindTheBufferFaultsInsteadOfCorrupting) {
  EXPECT_DEATH(
      {
        signal(SIGSEGV, SIG_DFL);
        Round(Load("write past the end"));
      },
      "");
}

TEST_F(HostTest, WhatAPluginChangesOfTheProcessIsTold) {
  Round(Load("handler in start"));
  const std::lock_guard lock(heard_mutex);
  EXPECT_THAT(told, testing::Contains(HasSubstr("handler of signal 12")));
  signal(SIGUSR2, SIG_DFL);
}

TEST_F(HostTest, TheGateKeepsOutWhatIsNotAskedFor) {
  EXPECT_TRUE((Gate{}.Wants("XPU")));
  EXPECT_FALSE((Gate{.device_tracer_level = 0}.Wants("XPU")));
  Gate gate;
  struct {
    const char *asked, *wanted, *unwanted;
  } constexpr kRows[] = {{"gpu", "CUDA GPU ROCM OPENCL PJRT", "TPU XPU DEMO"},
                         {"tpu", "TPU PJRT", "CUDA GPU OPENCL XPU DEMO"},
                         {"PLUGGABLE_DEVICE", "GPU XPU DEMO OPENCL PJRT", "CUDA ROCM TPU"},
                         {"unspecified", "CUDA TPU DEMO", ""},
                         {"cpu", "", "CUDA GPU TPU CPU XPU PJRT"},
                         {"CUDA", "CUDA", "GPU TPU OPENCL DEMO"}};
  for (const auto& [asked, wanted, unwanted] : kRows) {
    strcpy(gate.device_type, asked);
    std::string type;
    for (std::istringstream types(wanted); types >> type;) {
      EXPECT_TRUE(gate.Wants(type.c_str())) << asked << " " << type;
    }
    for (std::istringstream types(unwanted); types >> type;) {
      EXPECT_FALSE(gate.Wants(type.c_str())) << asked << " " << type;
    }
  }
  strcpy(gate.device_type, "xpu");
  EXPECT_TRUE(gate.Wants("XPU"));
  EXPECT_FALSE(gate.Wants("NPU"));
  around_.gate = gate;
  Round(Load(""));
  EXPECT_THAT(Last(told), HasSubstr("off: devices of type SCRIPTED are not asked for"));
  EXPECT_TRUE(collected.empty());
}

// Pages of this process: of its address space, and those that are there.
std::pair<long, long> Pages() {
  std::ifstream file("/proc/self/statm");
  long total = 0, resident = 0;
  file >> total >> resident;
  return {total, resident};
}

long ResidentKiB() { return Pages().second * (sysconf(_SC_PAGESIZE) / 1024); }

TEST_F(HostTest, AThousandSessionsLeaveNothingBehind) {
  Plugin* plugin = Load("");
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  Round(plugin);
  const auto before = open_files();
  const long pages = Pages().first;
  for (int i = 1; i < 1000; ++i) Round(plugin);
  EXPECT_EQ(collected.size(), 1000u);
  EXPECT_EQ(open_files(), before);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep what is freed
  EXPECT_LT(Pages().first - pages, 1000) << "a page each";
#else
  (void)pages;
#endif
}

// In full, 10,000, by `make check`.
TEST_F(HostTest, ManySessionsOfTheDemoGrowNothing) {
  if (base::UnderEmulator()) GTEST_SKIP() << "what grows is the emulator's memory";
  const char* asked = getenv("CROSSCUT_TEST_CYCLES");
  const int cycles = asked == nullptr ? 1500 : atoi(asked);
  around_.limits = {};  // the demo's stop waits for its device
  const std::string file = folder_ + "/libdemo.so";
  std::filesystem::copy_file(DEMO_PLUGIN, file);
  auto* plugin = Kept(new Plugin((file + ",period_us=20,busy_us=4").c_str(), &around_));
  ASSERT_TRUE(plugin->Begin());
  Settle(plugin);
  long after_warm_up = 0;
  for (int i = 0; i < cycles; ++i) {
    Round(plugin);
    if (i == 500) after_warm_up = ResidentKiB();
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep what is freed
  EXPECT_LT(ResidentKiB() - after_warm_up, 512);
#else
  (void)after_warm_up;
#endif
  EXPECT_EQ(told, std::vector<std::string>{"demo on: "});
}

TEST(TheirProfilersTest, HasOneStateForAllOfThem) {
  TheirProfilers theirs;
  EXPECT_EQ(theirs.Now().order, 0u);
  const std::pair<crosscut_profiler_moment, crosscut_profilers> story[] = {
      {CROSSCUT_PROFILER_STARTS, CROSSCUT_PROFILERS_CHANGING},
      {CROSSCUT_PROFILER_STARTED, CROSSCUT_PROFILERS_RUNNING},
      {CROSSCUT_PROFILER_STARTS, CROSSCUT_PROFILERS_CHANGING},  // another
      {CROSSCUT_PROFILER_ENDS, CROSSCUT_PROFILERS_CHANGING},    // the first, meanwhile
      {CROSSCUT_PROFILER_ENDED, CROSSCUT_PROFILERS_CHANGING},
      {CROSSCUT_PROFILER_ENDED, CROSSCUT_PROFILERS_NONE},  // the other could not start
      {CROSSCUT_PROFILER_ENDED, CROSSCUT_PROFILERS_NONE},  // of nothing
      {CROSSCUT_PROFILER_STARTS, CROSSCUT_PROFILERS_CHANGING}};
  uint64_t order = 0;
  for (const auto& [moment, state] : story) {
    const TheirProfilers::State now = theirs.Change(moment);
    EXPECT_EQ(now.state, state) << order;
    EXPECT_EQ(now.order, ++order);
  }
  theirs.Clear();
  EXPECT_EQ(theirs.Now().state, CROSSCUT_PROFILERS_NONE);
}

}  // namespace
}  // namespace crosscut::host
