#include "own_code.h"

#include <gtest/gtest.h>

namespace crosscut::samples {
namespace {

const OwnCode kCode = {{"/usr/lib/python3.12", "/opt/crosscut/crosscut", ""},
                       "/home/me/project",
                       {"/home/me/project", "/srv/scripts"},
                       ""};

TEST(OwnCode, IsWhatTheInterpreterAndPackagesDoNotHave) {
  for (const char* path :
       {"/home/me/project/train.py", "/home/me/lib/net.py", "train.py", "/usr/lib/python3.12.py",
        "/usr/lib/python3.12-mine/net.py", "/opt/crosscut/crosscuts/net.py",
        "/tmp/ipykernel_4120/31847.py", "<ipython-input-3-4f1b>", "<cell 3>", "<dynamic-code>",
        "/home/me/site-packages.py"}) {
    EXPECT_EQ(kCode.OwnerOf(path), Owner::kProgram) << path;
  }
  for (const char* path :
       {"/usr/lib/python3.12/json/decoder.py", "/opt/crosscut/crosscut/_hooks.py",
        "/home/me/project/.venv/lib/python3.12/site-packages/torch/nn/module.py",
        "/usr/lib/python3/dist-packages/numpy/core.py", "<frozen os>",
        "<__array_function__ internals>", "<eval_with_key>.0", "",
        "/tmp/torchinductor_me/ab/cab.py", "/tmp/__autograph_generated_file4d0.py"}) {
    EXPECT_EQ(kCode.OwnerOf(path), Owner::kOther) << path;
  }
  EXPECT_EQ(kCode.OwnerOf("<string>"), Owner::kUnnamed);
  EXPECT_EQ(kCode.OwnerOf("<stdin>"), Owner::kUnnamed);
}

TEST(OwnCode, IsShownFromTheFolderOfTheStartOrOfTheScriptOn) {
  EXPECT_EQ(kCode.Shown("/home/me/project/models/net.py"), "models/net.py");
  EXPECT_EQ(kCode.Shown("/srv/scripts/train.py"), "train.py");
  EXPECT_EQ(kCode.Shown("/srv/scripts/a/util.py"), "a/util.py");
  EXPECT_EQ(kCode.Shown("/srv/scripts/b/util.py"), "b/util.py");
  EXPECT_EQ(kCode.Shown("models/net.py"), "models/net.py");
  EXPECT_EQ(kCode.Shown("./models/net.py"), "models/net.py");
  EXPECT_EQ(kCode.Shown("../../../srv/scripts/./a/util.py"), "a/util.py");
  EXPECT_EQ((OwnCode{{}, "/", {"/"}, ""}.Shown("/app/net.py")), "app/net.py");
}

TEST(OwnCode, OfNoFileIsShownAsAFileOfItsProgram) {
  OwnCode code = kCode;
  EXPECT_EQ(code.Shown("<string>"), "<string>");
  code.program = "/home/me/project/tools/train.py";
  EXPECT_EQ(code.Shown("<string>"), "tools/train.py/<string>");
  EXPECT_EQ(code.Shown("<stdin>"), "tools/train.py/<stdin>");
  code.program = "python -c import a/b";
  EXPECT_EQ(code.Shown("<string>"), "python -c import a/b/<string>");
  EXPECT_EQ(code.Shown("<cell 3>"), "<cell 3>");
}

TEST(OwnCode, IsShownByItsLastTwoPartsElsewhere) {
  EXPECT_EQ(kCode.Shown("/home/me/project2/models/net.py"), "models/net.py");
  EXPECT_EQ(kCode.Shown("/srv/scripts.py"), "srv/scripts.py");
  EXPECT_EQ(kCode.Shown("/net.py"), "net.py");
  EXPECT_EQ(OwnCode{}.Shown("/app/net.py"), "app/net.py");
  EXPECT_EQ(OwnCode{}.Shown("net.py"), "net.py");
}

}  // namespace
}  // namespace crosscut::samples
