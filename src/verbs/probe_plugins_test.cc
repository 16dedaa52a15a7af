#include "src/verbs/probe_plugins.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace crosscut::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ProbePluginsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/crosscut-probe-test-XXXXXX";
    folder_ = mkdtemp(name);
    Write("good.so", "a library");
    Write("bad.so", "another");
    // Writes down how it was called; what has "bad" in its name crashed.
    Write("checker",
          "#!/bin/sh\necho \"$*\" >> '" + folder_ +
              "/asked'\ncase \"$2\" in *bad*) echo it crashed in stop; exit 1;; esac\necho good\n");
    chmod(At("checker").c_str(), 0755);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string At(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) { std::ofstream(At(name)) << text; }
  std::string Asked() const {
    std::ostringstream text;
    text << std::ifstream(At("asked")).rdbuf();
    return text.str();
  }
  Probe Ours() const { return {At("checker"), At("cache/crosscut/probed-plugins")}; }

  std::string folder_;
};

TEST_F(ProbePluginsTest, LeavesOutWhatFailsAndSaysWhy) {
  const ProbedPlugins probed = ProbePlugins({At("bad.so"), At("good.so")}, Ours());
  EXPECT_THAT(probed.good, ElementsAre(At("good.so")));
  EXPECT_THAT(probed.sentences, ElementsAre(HasSubstr("bad.so is left out: tried in a process of "
                                                      "its own, it crashed in stop")));
}

TEST_F(ProbePluginsTest, RemembersUntilTheFileChanges) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(ProbePlugins({At("bad.so"), At("good.so")}, Ours()).good,
                ElementsAre(At("good.so")));
  }
  EXPECT_EQ(Asked(), "--probe " + At("bad.so") + "\n--probe " + At("good.so") + "\n");
  Write("good.so", "a newer library");
  ProbePlugins({At("bad.so"), At("good.so")}, Ours());
  EXPECT_EQ(Asked(), "--probe " + At("bad.so") + "\n--probe " + At("good.so") + "\n--probe " +
                         At("good.so") + "\n");
}

TEST_F(ProbePluginsTest, AsksAgainWhereAnotherCheckerIsInstalled) {
  EXPECT_THAT(ProbePlugins({At("bad.so")}, Ours()).good, IsEmpty());
  Write("checker", "#!/bin/sh\necho good\n");
  EXPECT_THAT(ProbePlugins({At("bad.so")}, Ours()).good, ElementsAre(At("bad.so")));
}

TEST_F(ProbePluginsTest, TheCheckersOwnTroubleIsNoAnswer) {
  Write("checker", "#!/bin/sh\necho cannot prepare a process\nexit 3\n");
  const ProbedPlugins probed = ProbePlugins({At("bad.so")}, Ours());
  EXPECT_THAT(probed.good, ElementsAre(At("bad.so")));
  EXPECT_THAT(probed.sentences, ElementsAre(HasSubstr("(cannot prepare a process)")));
  EXPECT_FALSE(std::filesystem::exists(Ours().cache));
}

TEST_F(ProbePluginsTest, RegistrationsAreAnotherQuestionAndTheCheckersTroubleIsNoNews) {
  Probe registration = Ours();
  registration.sessions = false;
  // The checker above looks at its second argument.
  Write("checker", "#!/bin/sh\necho \"$*\" >> '" + folder_ + "/asked'\necho it crashed; exit 1\n");
  EXPECT_THAT(ProbePlugins({At("bad.so")}, registration).good, IsEmpty());
  EXPECT_THAT(ProbePlugins({At("bad.so")}, registration).sentences,
              ElementsAre(HasSubstr("bad.so")));
  EXPECT_THAT(ProbePlugins({At("bad.so")}, Ours()).good, IsEmpty());
  EXPECT_EQ(Asked(), "--probe --registers --deadline=2 " + At("bad.so") + "\n--probe " +
                         At("bad.so") + "\n");
  registration.checker = At("no checker");
  const ProbedPlugins probed = ProbePlugins({At("bad.so")}, registration);
  EXPECT_THAT(probed.good, ElementsAre(At("bad.so")));
  EXPECT_THAT(probed.sentences, IsEmpty());
}

TEST_F(ProbePluginsTest, SettingsReachThePluginAndBelongToTheAnswer) {
  ProbePlugins({At("good.so")}, Ours());
  EXPECT_THAT(ProbePlugins({At("good.so") + ",period_us=5,mode=hang in x"}, Ours()).good,
              ElementsAre(At("good.so") + ",period_us=5,mode=hang in x"));
  EXPECT_EQ(Asked(), "--probe " + At("good.so") + "\n--probe " + At("good.so") +
                         " --env=CROSSCUT_PLUGIN_PERIOD_US=5 --env=CROSSCUT_PLUGIN_MODE=hang in "
                         "x\n");
}

TEST_F(ProbePluginsTest, WhatCannotBeAskedIsGood) {
  EXPECT_THAT(ProbePlugins({"tensorflow-plugins", At("nowhere.so")}, Ours()).good,
              ElementsAre("tensorflow-plugins", At("nowhere.so")));
  EXPECT_EQ(Asked(), "");
  const ProbedPlugins probed = ProbePlugins({At("bad.so")}, {At("no checker"), ""});
  EXPECT_THAT(probed.good, ElementsAre(At("bad.so")));
  EXPECT_THAT(probed.sentences, ElementsAre(HasSubstr("could not be tried")));
}

TEST_F(ProbePluginsTest, ACacheThatCannotBeWrittenOrReadHarmsNothing) {
  Write("cache", "a file where a folder should be");
  EXPECT_THAT(ProbePlugins({At("good.so")}, Ours()).good, ElementsAre(At("good.so")));
  EXPECT_THAT(ProbePlugins({At("good.so")}, {At("checker"), At("cache")}).sentences, IsEmpty());
}

TEST_F(ProbePluginsTest, ACheckerThatIsKilledHasNoAnswer) {
  Write("checker", "#!/bin/sh\necho so far; kill -9 $$\n");
  const ProbedPlugins probed = ProbePlugins({At("bad.so")}, Ours());
  EXPECT_THAT(probed.good, ElementsAre(At("bad.so")));
  EXPECT_THAT(probed.sentences, ElementsAre(HasSubstr("could not be tried beforehand (so far)")));
}

TEST_F(ProbePluginsTest, InAFolderThatOthersMayWriteNothingIsRemembered) {
  std::filesystem::create_directories(At("cache/crosscut"));
  for (const mode_t mode : {0720, 0702}) {
    chmod(At("cache/crosscut").c_str(), mode);
    ProbePlugins({At("bad.so")}, Ours());
    EXPECT_FALSE(std::filesystem::exists(Ours().cache));
  }
  chmod(At("cache/crosscut").c_str(), 0750);
  ProbePlugins({At("bad.so")}, Ours());
  EXPECT_TRUE(std::filesystem::exists(Ours().cache));
}

TEST_F(ProbePluginsTest, OthersAnswersSayNothing) {
  ProbePlugins({At("bad.so")}, Ours());
  ASSERT_TRUE(std::filesystem::exists(Ours().cache));
  EXPECT_EQ(std::filesystem::status(At("cache/crosscut")).permissions(),
            std::filesystem::perms::owner_all);
  const std::string asked = Asked();
  ProbePlugins({At("bad.so")}, Ours());
  EXPECT_EQ(Asked(), asked) << "it is known";
  // Whoever may write the file may have written it; a link may lead to anybody's.
  int round = 0;
  for (const mode_t mode : {0620, 0602}) {
    chmod(Ours().cache.c_str(), mode);
    EXPECT_THAT(ProbePlugins({At("bad.so")}, Ours()).good, IsEmpty());
    EXPECT_EQ(Asked(), round == 0 ? asked + asked : asked);
    ++round;
    chmod(Ours().cache.c_str(), 0600);
    std::filesystem::remove(At("asked"));
    ProbePlugins({At("bad.so")}, Ours());
    EXPECT_EQ(Asked(), "") << "it is ours again";
  }
  std::filesystem::rename(Ours().cache, At("elsewhere"));
  std::filesystem::create_symlink(At("elsewhere"), Ours().cache);
  ProbePlugins({At("bad.so")}, Ours());
  EXPECT_NE(Asked(), "");
}

TEST(ProbeCacheFile, LiesInTheUsersCache) {
  const auto set = [](const char* name, const char* value) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  };
  const auto file = [&](const char* cache, const char* home) {
    set("XDG_CACHE_HOME", cache);
    set("HOME", home);
    return ProbeCacheFile();
  };
  const std::string before_cache = getenv("XDG_CACHE_HOME") ? getenv("XDG_CACHE_HOME") : "",
                    before_home = getenv("HOME") ? getenv("HOME") : "";
  EXPECT_EQ(file("/c", "/h"), "/c/crosscut/probed-plugins");
  for (const char* no_cache : {static_cast<const char*>(nullptr), "", "c"}) {
    EXPECT_EQ(file(no_cache, "/h"), "/h/.cache/crosscut/probed-plugins");
    for (const char* no_home : {static_cast<const char*>(nullptr), "", "h"}) {
      EXPECT_EQ(file(no_cache, no_home), "");
    }
  }
  set("XDG_CACHE_HOME", before_cache.empty() ? nullptr : before_cache.c_str());
  set("HOME", before_home.empty() ? nullptr : before_home.c_str());
}

// What the loader has of this program's own notes.
std::string BuildIdInMemory() {
  std::string id = "-";
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
          if (segment.p_type != PT_NOTE || memcmp(at + 8, "\3\0\0\0GNU", 8) != 0) continue;
          auto* text = static_cast<std::string*>(out);
          text->clear();
          for (uint32_t k = 0; k < *reinterpret_cast<const uint32_t*>(at + 4); ++k) {
            char two[3];
            snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(at[16 + k]));
            *text += two;
          }
        }
        return 1;  // the first object is the program
      },
      &id);
  return id;
}

TEST_F(ProbePluginsTest, TheBuildIdIsTheLinkers) {
  EXPECT_EQ(BuildId("/proc/self/exe"), BuildIdInMemory());
  EXPECT_EQ(BuildId(At("good.so")), "-");
  EXPECT_EQ(BuildId(At("nowhere")), "-");
  EXPECT_EQ(BuildId(folder_), "-");
}

// A 64-bit file of two segments, of which the second one has these notes.
std::string ElfWith(const std::string& notes, uint32_t type = PT_NOTE,
                    const std::function<void(Elf64_Ehdr*)>& change = {}) {
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  if (change) change(&header);
  Elf64_Phdr segments[2] = {};
  segments[1].p_type = type;
  segments[1].p_offset = sizeof header + sizeof segments;
  segments[1].p_filesz = notes.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         std::string(reinterpret_cast<const char*>(segments), sizeof segments) + notes;
}

std::string Note(const std::string& name, const std::string& text, uint32_t type) {
  const Elf64_Nhdr note = {static_cast<Elf64_Word>(name.size()),
                           static_cast<Elf64_Word>(text.size()), type};
  const auto padded = [](std::string part) {
    part.resize((part.size() + 3) / 4 * 4);
    return part;
  };
  return std::string(reinterpret_cast<const char*>(&note), sizeof note) + padded(name) +
         padded(text);
}

TEST_F(ProbePluginsTest, TheBuildIdIsFoundAmongOtherNotesAndNotBeyondTheirEnd) {
  const auto id = [&](const std::string& file) {
    Write("notes.so", file);
    return BuildId(At("notes.so"));
  };
  const std::string gnu("GNU\0", 4), build = Note(gnu, "\x01\xab\x7f\xf0\x0f", NT_GNU_BUILD_ID);
  EXPECT_EQ(id(ElfWith(build)), "01ab7ff00f");
  EXPECT_EQ(id(ElfWith(Note("x", "12345", 1) + Note("", "", 9) + build)), "01ab7ff00f");
  EXPECT_EQ(id(ElfWith(Note(gnu, "", NT_GNU_BUILD_ID) + build)), "01ab7ff00f") << "an empty one";
  EXPECT_EQ(id(ElfWith(build, PT_LOAD)), "-");
  EXPECT_EQ(id(ElfWith("")), "-");
  // Cut anywhere: the last byte of the text is the last that is needed.
  for (size_t cut = 0; cut < build.size(); ++cut) {
    const bool whole = cut >= sizeof(Elf64_Nhdr) + 4 + 5;
    EXPECT_EQ(id(ElfWith(build.substr(0, cut))), whole ? "01ab7ff00f" : "-") << cut;
  }
  EXPECT_EQ(id(ElfWith(build, PT_NOTE, [](auto* h) { h->e_ident[EI_CLASS] = ELFCLASS32; })), "-");
  EXPECT_EQ(id(ElfWith(build, PT_NOTE, [](auto* h) { ++h->e_phentsize; })), "-");
  EXPECT_EQ(id(ElfWith(build, PT_NOTE, [](auto* h) { h->e_ident[0] = 'x'; })), "-");
  // So much is read, and no more.
  const size_t room = 65536 - sizeof(Elf64_Nhdr) - build.size();
  EXPECT_EQ(id(ElfWith(Note("", std::string(room, 'x'), 1) + build)), "01ab7ff00f");
  EXPECT_EQ(id(ElfWith(Note("", std::string(room, 'x'), 1) + build + "\n")), "-");
  std::string huge = build;
  huge[4] = huge[5] = huge[6] = huge[7] = '\xff';
  EXPECT_EQ(id(ElfWith(huge)), "-");
}

}  // namespace
}  // namespace crosscut::verbs
