// All plugins of a process, which are one: every test's stay loaded.
#include "src/host/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "src/collect/test_ring.h"
#include "src/host/plugin.h"

namespace crosscut::host {
namespace {

std::mutex heard_mutex;
std::vector<std::string> told, collected;
int idle = 0, loaded = 0;

std::vector<std::string> Heard(const std::vector<std::string>& of) {
  const std::lock_guard lock(heard_mutex);
  return of;
}

class RegistryTest : public record::testing::CollectTest {
 protected:
  RegistryTest() {
    const std::lock_guard lock(heard_mutex);
    told.clear();
    collected.clear();
    idle = loaded = 0;
  }

  static Surroundings Around() {
    Surroundings around;
    around.hooks.tell = [](const char* name, const char*, const char* state, const char* why) {
      const std::lock_guard lock(heard_mutex);
      told.push_back(std::string(name) + " " + state + ": " + (why == nullptr ? "" : why));
    };
    around.hooks.holds = [](const char*, bool) {};
    around.limits.load = around.limits.start = around.limits.stop = 60'000'000'000;
    around.hooks.probe_cost = [](uint32_t, const int64_t*) {};
    around.hooks.collected = [](const char* source, const void* bytes, size_t size,
                                int64_t) -> const char* {
      const std::lock_guard lock(heard_mutex);
      std::string text(static_cast<const char*>(bytes), size);
      text.resize(text.find_last_not_of(' ') + 1);
      collected.push_back(std::string(source) + ": " + text);
      return nullptr;
    };
    around.hooks.idle = [] {
      const std::lock_guard lock(heard_mutex);
      ++idle;
    };
    around.hooks.loaded = [] {
      const std::lock_guard lock(heard_mutex);
      ++loaded;
    };
    return around;
  }
  // A file of its own for a plugin of that name.
  std::string File(const std::string& name) const {
    const std::string file = dir_ + "/lib" + name + ".so";
    std::filesystem::copy_file(SCRIPTED_PLUGIN, file);
    return file;
  }
  static void Settle() { ASSERT_TRUE(Registry::Get().Await(60'000)); }
  static void Load(const std::string& list) {
    Registry::Get().Load(list.c_str(), Around());
    Settle();
  }
};

// In a process of its own, which has no plugin yet.
int InChild(void (*body)()) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    record::Recorder::Get().AfterFork(nullptr);  // its ring is not there
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

class RegistryRun : public RegistryTest {
 public:
  void TestBody() override {}

  void OfAList() {
    Registry& registry = Registry::Get();
    const std::string one = File("one"), two = File("two");
    std::filesystem::create_symlink(one, dir_ + "/libother.so");
    EXPECT_EQ(registry.count(), 0);
    Load("");
    EXPECT_EQ(registry.count(), 0);
    Load(":" + one + ",callbacks=1::" + two + ",mode=throw in level,callbacks=1:");
    EXPECT_EQ(registry.count(), 2);
    EXPECT_EQ(registry.threads(), 2);
    EXPECT_FALSE(registry.Busy());
    // The same again, by its name, with other settings, by another name.
    Load(one + ":" + one + ",mode=nothing:" + dir_ + "/libother.so:" + dir_ + "/../" +
         std::filesystem::path(dir_).filename().string() + "/libtwo.so");
    EXPECT_EQ(registry.count(), 2);
    const std::string behind = one + std::string(1, '\0') + File("behind");
    Load(behind.c_str());  // what stands behind its end is none of the list
    EXPECT_EQ(registry.count(), 2);
    registry.Start();
    Settle();
    EXPECT_THAT(Heard(told), ::testing::UnorderedElementsAre("one on: ", "two on: "));
    registry.SetLevel(3);
    registry.OtherProfiler("torch", CROSSCUT_PROFILER_STARTS);
    registry.Flush();
    Settle();
    registry.Stop();
    Settle();
    EXPECT_THAT(Heard(collected),
                ::testing::ElementsAre("one: init calibrate start 3=level torch,1,1=profiler flush "
                                       "flush stop size bytes"))
        << "and nothing of the one that threw";
    EXPECT_EQ(Heard(told).back(), "two failed: set_level threw an exception");
    // A later session knows of the profiler that runs.
    registry.Start();
    Settle();
    registry.Stop();
    Settle();
    EXPECT_EQ(Heard(collected).back(), "one: profiler,1,1=profiler start flush stop size bytes");
    EXPECT_EQ(registry.threads(), 2) << "who threw is left alone with its thread";
    registry.End();
    Settle();
    registry.Start();
    Settle();
    EXPECT_EQ(Heard(collected).size(), 2) << "it has ended";
    for (int i = 0; i < 100'000 && registry.threads() != 1; ++i) usleep(100);
    EXPECT_EQ(registry.threads(), 1);
  }

  void OfTooMany() {
    std::string list;
    for (int i = 0; i < Registry::kMostPlugins; ++i) list += File(std::to_string(i)) + ":";
    const std::string more = File("more"), longest(1024, 'x');
    Load(longest + ":" + list + more);
    EXPECT_EQ(Registry::Get().count(), Registry::kMostPlugins);
    const auto words = Heard(told);
    ASSERT_EQ(words.size(), 2);
    EXPECT_EQ(words[0], longest.substr(0, 1023) +
                            " failed: not loaded: its path is too long, or 16 are here");
    EXPECT_EQ(words[1], more + " failed: not loaded: its path is too long, or 16 are here");
  }

  // Whoever finds the process dead reads it in the ring.
  void OfCallsInFlight() {
    record::ChunkRing* ring = Record(16);
    const auto in_flight = [ring] { return std::string(ring->header()->last_plugin); };
    Registry::Get().Load(
        (File("first") + ",mode=slow in start:" + File("second") + ",mode=slow in start").c_str(),
        Around());
    Settle();
    EXPECT_EQ(in_flight(), "");
    Registry::Get().Start();
    EXPECT_TRUE(Registry::Get().Busy());
    EXPECT_FALSE(Registry::Get().Await(0));
    std::string seen;
    for (int i = 0; i < 100'000 && seen != "first: start, second: start"; ++i) {
      seen = in_flight();
      usleep(100);
    }
    EXPECT_EQ(seen, "first: start, second: start");
    Settle();
    EXPECT_EQ(in_flight(), "");
  }

  // Between a start that went well and the stop, what is pushed is kept.
  void OfPushes() {
    record::ChunkRing* ring = Record(64);
    Surroundings& around = *new Surroundings(Around());
    around.call_changed = [] {};
    const struct {
      const char* mode;
      bool started;
    } cases[] = {{"", true},
                 {"fail in start", false},
                 {"throw in start", false},
                 {"fail in stop", true},
                 {"throw in stop", true}};
    for (const auto& [mode, started] : cases) {
      const std::string file = File(std::to_string(files_++)) + ",mode=" + mode;
      Plugin& plugin = *new Plugin(file.c_str(), &around);
      const auto& host = *reinterpret_cast<const crosscut_host*>(plugin.pushes().extension());
      const auto settle = [&plugin] {
        while (plugin.Busy()) usleep(200);
      };
      const auto kept = [&] {
        const crosscut_track track = {sizeof track, 0, 1, 0, "queue", nullptr};
        const uint32_t on = host.track(host.host, &track);
        const size_t before = record::testing::EventsIn(*ring).size();
        host.span(host.host, on, host.word(host.host, "x", 1), 1, 2);
        return record::testing::EventsIn(*ring).size() != before;
      };
      EXPECT_TRUE(plugin.Begin());
      settle();
      EXPECT_FALSE(kept()) << mode;
      plugin.Start();
      settle();
      EXPECT_EQ(kept(), started) << mode;
      plugin.Stop();
      settle();
      EXPECT_FALSE(kept()) << mode;
    }
  }

  void OfAForkedChild() {
    Load(File("one"));
    Registry& registry = Registry::Get();
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      registry.AfterFork();
      registry.Start();
      const bool good = !registry.Busy() && registry.threads() == 0 && told.size() == 1 &&
                        told[0] ==
                            "one off: a forked child does not use its parent's device "
                            "library";
      _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }

 private:
  int files_ = 0;
};

TEST(Registry, LoadsEachFileOfAListOnceAndDrivesAll) {
  EXPECT_EQ(InChild([] { RegistryRun().OfAList(); }), 0);
}
TEST(Registry, RefusesWhatIsTooLongOrTooMuchByItsName) {
  EXPECT_EQ(InChild([] { RegistryRun().OfTooMany(); }), 0);
}
TEST(Registry, TellsInTheRingWhichCallsAreInFlight) {
  EXPECT_EQ(InChild([] { RegistryRun().OfCallsInFlight(); }), 0);
}
TEST(Registry, KeepsWhatAPluginPushesWhileItIsStarted) {
  EXPECT_EQ(InChild([] { RegistryRun().OfPushes(); }), 0);
}
TEST(Registry, OfAForkedChildUsesNoPlugin) {
  EXPECT_EQ(InChild([] { RegistryRun().OfAForkedChild(); }), 0);
}

}  // namespace
}  // namespace crosscut::host
