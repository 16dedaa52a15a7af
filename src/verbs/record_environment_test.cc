// What a command is given, where the package lies, and which programs keep us out.
#include "src/verbs/recording/record_environment.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "src/base/time.h"
#include "src/verbs/test_recording.h"

namespace crosscut::verbs {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Strings = std::vector<std::string>;

PackageLayout Whole() {
  PackageLayout package;
  package.root = "/p";
  package.inject = "/p/inject";
  package.preload = "/p/lib/pre.so";
  package.opencl = "/p/lib/cl.so";
  package.cupti = "/p/cupti.so";
  package.nvidia = true;
  return package;
}

Strings Variables(const Strings& before, const RecordOptions& options,
                  const PackageLayout& package) {
  return PrepareEnvironment(before, options, package, "").variables;
}

// The value of one; "-" where there is none.
std::string ValueOf(const Strings& all, const std::string& name) {
  for (const std::string& variable : all) {
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  }
  return "-";
}

TEST(Environment, KeepsItsOrderAndTheUsersOwnSettingsAndGetsAPlaceForAllThatComesLater) {
  RecordOptions options;
  options.run_dir = "/runs/a";
  options.seed = 5;
  const std::string folders = "CROSSCUT_FOLDERS=" + fs::current_path().string() + "\n";
  EXPECT_THAT(
      Variables({"A=1", "CROSSCUT_RUN=x", "CROSSCUT_PLUGIN_A=2", "CROSSCUT_PLUGINS=/a.so",
                 "CROSSCUT_DEVICE_TYPE=GPU", "CROSSCUT_TENSORFLOW=1", "CROSSCUT_TENSORFLOW_X=1",
                 "CROSSCUT_=1", "CROSSCUT=1", "XCROSSCUT_A=1", "CROSSCUT_DEVICE=2", "Z="},
                options, {}),
      ElementsAre("A=1", "CROSSCUT_PLUGIN_A=2", "CROSSCUT_PLUGINS=/a.so",
                  "CROSSCUT_DEVICE_TYPE=GPU", "CROSSCUT_TENSORFLOW=1", "CROSSCUT=1",
                  "XCROSSCUT_A=1", "Z=", "CROSSCUT_RUN=/runs/a", "CROSSCUT_SEED=5", folders,
                  "CROSSCUT_PARENT=", "CROSSCUT_PLUGINS_COMPLETE=", "CROSSCUT_TOLD="));
  EXPECT_THAT(Variables({}, options, Whole()),
              ElementsAre("CROSSCUT_RUN=/runs/a", "CROSSCUT_SEED=5", "OPENCL_LAYERS=/p/lib/cl.so",
                          "CROSSCUT_PLUGINS=/p/lib/cl.so:/p/cupti.so", "PYTHONPATH=/p/inject",
                          "LD_PRELOAD=/p/lib/pre.so", folders, "CROSSCUT_PARENT=",
                          "CROSSCUT_PLUGINS_COMPLETE=", "CROSSCUT_TENSORFLOW=", "CROSSCUT_TOLD="));
}

TEST(Environment, PluginsAreNamedByWholePathsWithTheirSettings) {
  RecordOptions options;
  options.plugins = {"a.so", "../b.so,x=/y,z", "tensorflow-plugins", "/c.so"};
  const std::string here = fs::current_path();
  const std::string ours = here + "/a.so:" + here + "/../b.so,x=/y,z:tensorflow-plugins:/c.so";
  EXPECT_EQ(ValueOf(Variables({}, options, {}), "CROSSCUT_PLUGINS"), ours);
  EXPECT_EQ(ValueOf(Variables({"CROSSCUT_PLUGINS=/own.so"}, options, {}), "CROSSCUT_PLUGINS"),
            "/own.so:" + ours);
  options.plugins = {"tensorflow-plugins", "/c.so"};
  EXPECT_EQ(ValueOf(Variables({}, options, {}), "CROSSCUT_PLUGINS"), "tensorflow-plugins:/c.so");
}

// What a list cannot hold, or who is asked for later, is in none.
TEST(Environment, OurOwnLibrariesAreInListsThatCanHoldThem) {
  const auto lists = [](const std::function<void(PackageLayout*, RecordOptions*)>& change) {
    PackageLayout package = Whole();
    RecordOptions options;
    change(&package, &options);
    const Strings all = Variables({}, options, package);
    return ValueOf(all, "OPENCL_LAYERS") + " " + ValueOf(all, "CROSSCUT_PLUGINS");
  };
  using Package = PackageLayout;
  using Options = RecordOptions;
  const std::string both = "/p/lib/cl.so /p/lib/cl.so:/p/cupti.so";
  EXPECT_EQ(lists([](Package*, Options*) {}), both);
  EXPECT_EQ(lists([](Package*, Options* o) { o->sources = "a,opencl"; }),
            "/p/lib/cl.so /p/lib/cl.so");
  EXPECT_EQ(lists([](Package*, Options* o) { o->sources = "cupti,a"; }), "- /p/cupti.so");
  EXPECT_EQ(lists([](Package*, Options* o) { o->sources = "opencl,cupti"; }), both);
  EXPECT_EQ(lists([](Package*, Options* o) { o->sources = "openclx,xcupti"; }), "- ");
  EXPECT_EQ(lists([](Package*, Options* o) { o->dormant = true; }), "- /p/cupti.so");
  EXPECT_EQ(lists([](Package* p, Options*) { p->nvidia = false; }), "/p/lib/cl.so /p/lib/cl.so");
  for (const char* path : {"/a:b.so", "/a,b.so"}) {
    EXPECT_EQ(lists([&](Package* p, Options*) { p->opencl = path; }), "- /p/cupti.so");
    EXPECT_EQ(lists([&](Package* p, Options*) { p->cupti = path; }), "/p/lib/cl.so /p/lib/cl.so");
  }
  EXPECT_EQ(lists([](Package* p, Options*) { p->opencl = ""; }), "- /p/cupti.so");
}

TEST(Environment, WhatCannotBeEnteredIsSaidAndNotTried) {
  const auto prepared = [](const std::function<void(PackageLayout*)>& change,
                           const std::string& obstacle = "") {
    PackageLayout package = Whole();
    change(&package);
    return PrepareEnvironment({}, {}, package, obstacle);
  };
  EXPECT_THAT(prepared([](PackageLayout*) {}).problems, IsEmpty());
  auto got = prepared([](PackageLayout* p) { p->inject = ""; });
  EXPECT_EQ(ValueOf(got.variables, "PYTHONPATH"), "-");
  EXPECT_THAT(got.problems, ElementsAre(HasSubstr("the injected files are missing")));
  got = prepared([](PackageLayout* p) { p->inject = "/a:b/inject"; });
  EXPECT_EQ(ValueOf(got.variables, "PYTHONPATH"), "-");
  EXPECT_THAT(got.problems, ElementsAre(HasSubstr("below a folder with ':' in its name")));
  for (const char* preload : {"", "/a b.so", "/a:b.so"}) {
    got = prepared([&](PackageLayout* p) { p->preload = preload; });
    EXPECT_EQ(ValueOf(got.variables, "LD_PRELOAD"), "-") << preload;
    EXPECT_THAT(got.problems, IsEmpty());
  }
  const std::pair<const char*, bool> kObstacles[] = {
      {"", true},
      {"is setuid", true},
      {"is statically linked", true},
      {"is a 32-bit program, for another processor than our library", false},
      {"is for another processor", false},
      {"is loaded by another C library's loader", false},
      {"is built with ThreadSanitizer, which takes our library for the program's", false},
      {"is built with AddressSanitizer, which refuses preloaded libraries", false}};
  for (const auto& [obstacle, preloads] : kObstacles) {
    got = prepared([](PackageLayout*) {}, obstacle);
    EXPECT_EQ(ValueOf(got.variables, "LD_PRELOAD"), preloads ? "/p/lib/pre.so" : "-") << obstacle;
  }
}

TEST(Environment, AnEndByTheClockIsSoFarFromNow) {
  for (const double seconds : {0.001, 2.5, 3600.0}) {
    RecordOptions options;
    options.stop_after_seconds = seconds;
    const int64_t before = base::MonotonicNs();
    const Strings all = Variables({}, options, {});
    const int64_t after = base::MonotonicNs(), length = std::llround(seconds * 1e9);
    const int64_t at = std::stoll(ValueOf(all, "CROSSCUT_STOP_AT"));
    EXPECT_GE(at, before + length);
    EXPECT_LE(at, after + length);
    EXPECT_EQ(ValueOf(all, "CROSSCUT_DORMANT"), "0");
    EXPECT_EQ(ValueOf(all, "CROSSCUT_STOP_AFTER_STEPS"), "-");
  }
}

TEST(PackageOfAProgram, LiesTwoFoldersAboveItAndNamesWhatIsThere) {
  TempFolder folder;
  const std::string root = folder.path();
  for (const char* none : {"crosscut", "/crosscut", "", "/"}) {
    EXPECT_EQ(FindPackage(none).root, "") << none;
  }
  EXPECT_EQ(FindPackage("/bin/crosscut").root, "");
  EXPECT_EQ(FindPackage("bin/crosscut").root, "");
  EXPECT_EQ(FindPackage("/p/bin/crosscut").root, "/p");
  PackageLayout package = FindPackage(root + "/bin/crosscut");
  EXPECT_EQ(package.root, root);
  EXPECT_EQ(package.inject + package.preload + package.opencl, "");
  EXPECT_EQ(package.cupti, root + "/plugins/cupti/libcrosscut_cupti.so");
  EXPECT_EQ(OwnPlugin(package, "libcrosscut_cupti.so"), "");
  for (const char* file : {"inject/sitecustomize.py", "lib/libcrosscut_preload.so",
                           "lib/libcrosscut_opencl.so", "plugins/cupti/libcrosscut_cupti.so",
                           "lib/plugins/z.so", "lib/plugins/a.so", "lib/plugins/a.so.txt"}) {
    fs::create_directories(fs::path(root + "/" + file).parent_path());
    Write(root + "/" + file, "");
  }
  package = FindPackage(root + "/bin/crosscut");
  EXPECT_EQ(package.inject, root + "/inject");
  EXPECT_EQ(package.preload, root + "/lib/libcrosscut_preload.so");
  EXPECT_EQ(package.opencl, root + "/lib/libcrosscut_opencl.so");
  EXPECT_EQ(OwnPlugin(package, "libcrosscut_cupti.so"), package.cupti);
  EXPECT_EQ(OwnPlugin(package, "libcrosscut_opencl.so"), package.opencl);
  for (const char* no : {"cupti.so", "", "libcrosscut_preload.so"}) {
    EXPECT_EQ(OwnPlugin(package, no), "") << no;
  }
  EXPECT_THAT(package.installed,
              ElementsAre(root + "/lib/plugins/a.so", root + "/lib/plugins/z.so"));
  EXPECT_EQ(ThisProgram(), fs::read_symlink("/proc/self/exe").string());
}

// An ELF file of one segment of each kind.
struct Elf {
  std::string loader = "/lib64/ld-linux-x86-64.so.2";  // "": it has none
  std::string names = std::string("\0main\0", 6);
  Elf64_Half machine = 0;
  unsigned char elf_class = ELFCLASS64;
  Elf64_Half entry_bytes = sizeof(Elf64_Phdr), segments = 3;
  uint64_t names_at = 0;    // beyond the place where they are
  uint64_t name_bytes = 0;  // fewer than there are
  uint64_t loaded = 1 << 16;
  uint64_t dynamic_bytes = 0;  // more than the entries that there are

  std::string Bytes() const {
    constexpr uint64_t kMoved = 0x40000;  // of addresses
    const uint64_t table_at = sizeof(Elf64_Ehdr),
                   loader_at = table_at + std::max(segments, Elf64_Half{3}) * sizeof(Elf64_Phdr),
                   dynamic_at = loader_at + loader.size() + 1, entries = 3,
                   texts_at = dynamic_at + entries * sizeof(Elf64_Dyn) + dynamic_bytes;
    Elf64_Ehdr header = {};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = elf_class;
    header.e_machine = machine;
    header.e_phoff = table_at;
    header.e_phentsize = entry_bytes;
    header.e_phnum = segments;
    Elf64_Phdr parts[3] = {};
    parts[0].p_type = loader.empty() ? PT_NULL : PT_INTERP;
    parts[0].p_offset = loader_at;
    parts[0].p_filesz = loader.size() + 1;
    parts[1].p_type = PT_DYNAMIC;
    parts[1].p_offset = dynamic_at;
    parts[1].p_filesz = entries * sizeof(Elf64_Dyn) + dynamic_bytes;
    parts[2].p_type = PT_LOAD;
    parts[2].p_vaddr = kMoved;
    parts[2].p_filesz = loaded + dynamic_bytes;
    Elf64_Dyn dynamic[entries] = {};
    dynamic[0].d_tag = DT_STRSZ;
    dynamic[0].d_un.d_val = names.size() - name_bytes;
    dynamic[1].d_tag = DT_STRTAB;
    dynamic[1].d_un.d_ptr = kMoved + texts_at + names_at;
    std::string out(reinterpret_cast<const char*>(&header), sizeof header);
    out.append(reinterpret_cast<const char*>(parts), sizeof parts);
    out.resize(loader_at);
    out.append(loader).append(1, '\0');
    out.append(reinterpret_cast<const char*>(dynamic), sizeof dynamic);
    return out.append(dynamic_bytes, '\0') + names;
  }
};

TEST(Obstacle, IsReadFromTheProgramsFile) {
  TempFolder folder;
  Elf64_Ehdr own;
  const std::string self = Read("/proc/self/exe");
  memcpy(&own, self.data(), sizeof own);
  const auto of_bytes = [&](const std::string& bytes) {
    Write(folder / "program", bytes, 0755);
    return ObstacleOf(folder / "program");
  };
  const auto of = [&](const std::function<void(Elf*)>& change) {
    Elf elf;
    elf.machine = own.e_machine;
    change(&elf);
    return of_bytes(elf.Bytes());
  };
  const std::string tsan =
                        "is built with ThreadSanitizer, which takes our library for the program's",
                    asan = "is built with AddressSanitizer, which refuses preloaded libraries",
                    small = "is a 32-bit program, for another processor than our library",
                    alone = "is statically linked";
  const auto names = [](std::string_view text) { return [text](Elf* elf) { elf->names = text; }; };
  using namespace std::string_view_literals;
  EXPECT_EQ(of([](Elf*) {}), "");
  EXPECT_EQ(of_bytes("#!/bin/sh\n"), "");
  EXPECT_EQ(of_bytes(self.substr(0, sizeof own - 1)), "") << "no whole header";
  EXPECT_EQ(of([](Elf* e) { e->elf_class = ELFCLASS32; }), small);
  EXPECT_EQ(of([](Elf* e) { ++e->machine; }), "is for another processor");
  EXPECT_EQ(of([](Elf* e) { e->loader = ""; }), alone);
  EXPECT_EQ(of([](Elf* e) { --e->entry_bytes; }), alone) << "its segments are not known";
  EXPECT_EQ(of([](Elf* e) { e->segments = 256; }), "");
  EXPECT_EQ(of([](Elf* e) { e->segments = 257; }), alone);
  EXPECT_EQ(of(names("\0/opt/x\0"sv)), "") << "the loader's name ends before";
  const char* other = "is loaded by another C library's loader";
  EXPECT_EQ(of([](Elf* e) { e->loader = "/lib/ld-musl-x86_64.so.1"; }), other);
  EXPECT_EQ(of([](Elf* e) { e->loader = "/lib/ld-linu"; }), other);
  EXPECT_EQ(of([](Elf* e) { e->loader = "/ld-linux/ld.so"; }), other);
  EXPECT_EQ(of([](Elf* e) { e->loader = "ld-linux.so.2"; }), "");
  EXPECT_EQ(of(names("\0__asan_init\0"sv)), asan);
  EXPECT_EQ(of(names("\0main\0__tsan_init\0x\0"sv)), tsan);
  EXPECT_EQ(of(names("\0__asan_init\0__tsan_init\0"sv)), tsan);
  EXPECT_EQ(of(names("\0__asan_init_v4\0x__tsan_init\0"sv)), "") << "others' names";
  const auto asan_and = [&](const std::function<void(Elf*)>& change) {
    return of([&](Elf* e) {
      e->names = "\0__asan_init\0"sv;
      change(e);
    });
  };
  EXPECT_EQ(asan_and([](Elf* e) { e->name_bytes = 1; }), "") << "the table ends before";
  constexpr uint64_t kMost = (1 << 20) - 3 * sizeof(Elf64_Dyn);  // what is read of it: a MiB
  EXPECT_EQ(asan_and([](Elf* e) { e->dynamic_bytes = kMost; }), asan);
  EXPECT_EQ(asan_and([](Elf* e) { e->dynamic_bytes = kMost + 1; }), "");
  EXPECT_EQ(asan_and([](Elf* e) { e->loaded = 8; }), "") << "it is not loaded";
  EXPECT_EQ(asan_and([](Elf* e) { e->names_at = 1; }), "");
  EXPECT_EQ(asan_and([](Elf* e) { e->names_at = uint64_t{0} - 0x1000; }), "");
}

TEST(InPath, IsTheFirstFileThatMayBeRun) {
  TempFolder folder;
  const fs::path here = fs::current_path();
  fs::current_path(folder.path());
  for (const char* name : {"a", "b", "a/folder"}) fs::create_directory(name);
  Write("a/data", "", 0644);
  Write("b/data", "", 0755);
  Write("b/folder", "", 0755);
  Write("b/tool", "", 0755);
  Write("tool", "", 0755);
  Write("plain", "", 0644);
  EXPECT_EQ(FindInPath("data", "a:b"), "b/data");
  EXPECT_EQ(FindInPath("folder", "a:b"), "b/folder");
  EXPECT_EQ(FindInPath("tool", "a:b:"), "b/tool");
  EXPECT_EQ(FindInPath("tool", ":b"), "./tool") << "an empty entry is this folder";
  EXPECT_EQ(FindInPath("tool", "a:"), "./tool");
  EXPECT_EQ(FindInPath("tool", "a::b"), "./tool");
  EXPECT_EQ(FindInPath("tool", ""), "./tool");
  EXPECT_EQ(FindInPath("tool", "a"), "");
  EXPECT_EQ(FindInPath("plain", ""), "");
  EXPECT_EQ(FindInPath("./plain", "a"), "./plain") << "a path is itself";
  EXPECT_EQ(FindInPath("./none", ""), "");
  fs::current_path(here);
}

}  // namespace
}  // namespace crosscut::verbs
