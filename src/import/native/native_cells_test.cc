#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/import/native/native_test_run.h"

namespace crosscut::import {
namespace {

using ::testing::ElementsAre;

TEST_F(Native, LinesOfCellsHaveTheirNumbersAndOtherLinesTheirFiles) {
  Words session = Session();
  const char* const texts[] = {"31847.py:3 work",  "work (ipykernel_4120/31847.py:1)",
                               "131847.py:3 work", "<ipython-input-4-4f1b>:2 <module>",
                               "train.py:3 work",  "aten::add"};
  uint32_t id = 0x100;
  for (const char* text : texts) {
    session.Name(id++, text, Attributes(format::kKindSpan, format::kLayerPython));
  }
  session.Meta("cell:/tmp/ipykernel_4120/31847.py", "Cell In[2]");
  session.Meta("cell:<ipython-input-4-4f1b>", "Cell In[4]");
  session.Meta("cell:/tmp/ipykernel_4120/31847.py", "Cell In[3]");  // it ran again
  session.At(1000, format::kStop, {format::kStopExit});
  Words main;
  main.Thread(0, 1, 0);
  for (uint32_t at = 0; at < 6; ++at) {
    main.At(100 + 10 * at, 0x100 + at).At(104 + 10 * at, format::kEnd);
  }
  Write("p1-1", session, {main});
  const trace::Trace trace = Read();
  std::vector<std::string_view> names;
  for (const trace::NameId name : trace.tracks[0].spans.name) {
    names.push_back(trace.name_text(name));
  }
  EXPECT_THAT(names, ElementsAre("Cell In[3]:3 work", "work (Cell In[3]:1)", "131847.py:3 work",
                                 "Cell In[4]:2 <module>", "train.py:3 work", "aten::add"));
  for (const auto& [key, value] : trace.processes[0].meta) {
    EXPECT_FALSE(trace.text(key).starts_with("cell:"));
  }
}

}  // namespace
}  // namespace crosscut::import
