// Sessions with a profiler plugin, each in a process of its own: plugins stay loaded.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "crosscut/crosscut.h"
#include "src/collect/recorder.h"
#include "src/format/run_reader.h"
#include "src/runtime/session.h"

namespace {

using crosscut::record::Phase;
using crosscut::record::Recorder;
using crosscut::record::Session;
using crosscut::record::State;

class SessionPlugins : public testing::Test {
 protected:
  SessionPlugins() {
    char path[] = "/tmp/crosscut-plugins-XXXXXX";
    dir() = mkdtemp(path);
  }
  ~SessionPlugins() override { std::filesystem::remove_all(dir()); }
  static std::string& dir() {
    static std::string path;
    return path;
  }

  static int Start() {
    const std::string run = dir() + "/run";
    crosscut_options options = {};
    options.struct_size = sizeof options;
    options.run_dir = run.c_str();
    options.memory_bytes = 4 << 20;
    return crosscut_start(&options);
  }
  // `options`: the plugin's, behind a comma.
  static void InChild(const std::string& options, void (*body)()) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(120);
      setenv("CROSSCUT_PLUGINS", (std::string(SCRIPTED_PLUGIN) + "," + options).c_str(), 1);
      EXPECT_EQ(Start(), CROSSCUT_OK) << crosscut_error();
      body();
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  static bool Becomes(State state) {
    for (int i = 0; i < 600'000 && Session::Get().state() != state; ++i) usleep(100);
    return Session::Get().state() == state;
  }
  // Of the session's facts the value of the last with that key.
  static std::string Fact(const std::string& wanted) {
    EXPECT_EQ(crosscut_flush(), CROSSCUT_OK);
    std::string found;
    const auto run = crosscut::format::RunReader::Open(dir() + "/run");
    (void)(*run)->processes().at(0)->ForEachSession([&](const auto& batch) {
      size_t n = 0;
      for (size_t at = 0; at < batch.words.size(); at += n) {
        n = crosscut::format::EventLength(batch.words, at);
        const uint64_t* words = batch.words.data() + at;
        if ((words[0] & 0xffff) != crosscut::format::kMeta) continue;
        const auto* text = reinterpret_cast<const char*>(words + 4);
        if (std::string(text, words[1]) == wanted) {
          found = std::string(text + (words[1] + 7) / 8 * 8, words[2]);
        }
      }
      return crosscut::Status();
    });
    return found;
  }
};

TEST_F(SessionPlugins, AStoppedSessionEndsWithWhatItsPluginHandsOver) {
  InChild("mode=slow in stop", [] {
    EXPECT_EQ(Fact("source:scripted_plugin:state"), "on");
    EXPECT_EQ(Fact("source:scripted_plugin:holds"), "1");
    EXPECT_EQ(crosscut_stop(), CROSSCUT_OK);
    EXPECT_EQ(crosscut_active(), 0);
    EXPECT_EQ(Session::Get().state(), State::kClosing) << "it takes its time";
    EXPECT_EQ(Recorder::Get().phase(), Phase::kClosing);
    EXPECT_TRUE(Becomes(State::kStopped));
    EXPECT_EQ(Recorder::Get().phase(), Phase::kOff);
    const std::string fact = Fact("collected:0");
    EXPECT_EQ(fact.rfind("xspace\tscripted_plugin\t", 0), 0) << fact;
    EXPECT_EQ(Fact("source:scripted_plugin:holds"), "");
    const size_t begin = sizeof "xspace\tscripted_plugin\t" - 1;
    std::stringstream bytes;
    bytes << std::ifstream(dir() + "/run/" + fact.substr(begin, fact.find('\t', begin) - begin))
                 .rdbuf();
    EXPECT_EQ(bytes.str().rfind("init start stop size bytes", 0), 0) << bytes.str();
  });
}

TEST_F(SessionPlugins, WhoStartsAnewMeanwhileRecords) {
  InChild("mode=slow in stop", [] {
    EXPECT_EQ(crosscut_stop(), CROSSCUT_OK);
    EXPECT_EQ(Session::Get().state(), State::kClosing);
    EXPECT_EQ(Start(), CROSSCUT_OK) << crosscut_error();
    EXPECT_EQ(Session::Get().state(), State::kRecording);
    usleep(500'000);
    EXPECT_EQ(Session::Get().state(), State::kRecording)
        << "what the first hands over ends nothing";
    EXPECT_EQ(crosscut_stop(), CROSSCUT_OK);
    crosscut_plugins_finish();
    EXPECT_TRUE(Becomes(State::kStopped));
    EXPECT_FALSE(Fact("collected:0").empty());
  });
}

TEST_F(SessionPlugins, TheGateIsTheEnvironments) {
  setenv("CROSSCUT_DEVICE_TRACER_LEVEL", "0", 1);
  InChild("mode=", [] { EXPECT_EQ(Fact("source:scripted_plugin:state"), "off"); });
  setenv("CROSSCUT_DEVICE_TRACER_LEVEL", "1", 1);
  setenv("CROSSCUT_DEVICE_TYPE", "tpu", 1);
  std::filesystem::remove_all(dir() + "/run");
  InChild("mode=", [] {
    EXPECT_EQ(Fact("source:scripted_plugin:state"), "off");
    EXPECT_EQ(Fact("source:scripted_plugin:message"), "devices of type SCRIPTED are not asked for");
  });
  setenv("CROSSCUT_DEVICE_TYPE", "scripted", 1);
  std::filesystem::remove_all(dir() + "/run");
  InChild("mode=", [] { EXPECT_EQ(Fact("source:scripted_plugin:state"), "on"); });
  unsetenv("CROSSCUT_DEVICE_TRACER_LEVEL");
  unsetenv("CROSSCUT_DEVICE_TYPE");
}

}  // namespace
