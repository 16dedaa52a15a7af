// Turns the events of a Chrome trace, in any order, into tracks of processes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/import/chrome/chrome_categories.h"
#include "src/import/chrome/chrome_edges.h"
#include "src/import/chrome/chrome_processes.h"
#include "src/import/chrome/chrome_rows.h"
#include "src/import/chrome/chrome_told.h"
#include "src/import/chrome/json_events.h"
#include "src/import/file_steps.h"
#include "src/trace/builder.h"

namespace crosscut::import {

class ChromeEvents : public JsonEvents {
 public:
  // `keep`: also keep what only an exporter of this format writes again.
  explicit ChromeEvents(bool keep) : keep_(keep) {}

  void OnEvent(const JsonEvent& event) override;
  void OnFact(std::string_view key, const JsonValue& value) override;
  // The trace. Call it once, at the end.
  trace::Trace Finish(const JsonReading& reading);

 private:
  struct KnownText {
    std::string_view text;  // of the builder's; "" where it is none
    trace::StringId id;
  };
  struct KnownCategory {
    std::string text;
    trace::StringId name;
    bool stated;  // else the event has none
    bool known;   // FindCategory does
    Category category;
    size_t number;                     // of all categories
    std::vector<trace::NameId> names;  // by StringId
    std::vector<KnownText> keys;       // of the arguments, by place: mostly the same in all events
  };

  static constexpr int kKnownTextBits = 10;
  static constexpr size_t kMostKeys = 32;   // places whose keys are remembered
  static constexpr size_t kMostKnown = 64;  // categories that have a list of names each

  void TakeBase(std::string_view key, std::string_view value);
  void TakeGaps(std::string_view array);
  uint32_t PidOf(const JsonEvent& event);
  ChromeRow* RowOf(const JsonEvent& event, Place place);
  ChromeRow* RowOfStep(const JsonEvent& event);
  void MakeRow(const JsonEvent& event, const JsonValue& tid, const JsonValue& device,
               ChromeRow* row);
  KnownCategory* KnownOf(std::string_view category);
  trace::NameId NameOf(KnownCategory* category, std::string_view text);
  trace::NameId& CachedName(KnownCategory* category, trace::StringId text, trace::NameId* uncached);
  // The string of a text as it stands in the file. `escapes`: a backslash in it begins an escape.
  trace::StringId TextOf(std::string_view text, bool escapes = true);
  trace::StringId JsonOf(const JsonValue& value);
  void TellStep(const JsonEvent& event, FileStep* step);
  void TakeSpan(const JsonEvent& event);
  void CountSpan(const JsonEvent& event, const KnownCategory& known, const ChromeRow* row);
  void TakeBegin(const JsonEvent& event);
  void TakeEnd(const JsonEvent& event);
  // What a span or a begin of that category is beside the spans of rows, with its end at its begin.
  struct Aside {
    enum Kind : uint8_t { kNone, kLeftOut, kStep, kWindow } kind = kNone;
    ChromeRow* row = nullptr;
    FileStep step = {};  // the times of all of them
  };
  Aside AsideOf(const JsonEvent& event, const KnownCategory& known);
  void TakeAside(const Aside& aside);
  // Of begins whose ends are known by now.
  void TakeAsides();
  void TakeInstant(const JsonEvent& event);
  void TakeCounter(const JsonEvent& event);
  void TakeMetadata(const JsonEvent& event);
  void TakeFlow(const JsonEvent& event);
  // The owner of the event's arguments among the row's args.
  uint32_t TakeArgs(const JsonEvent& event, ChromeRow* row);
  // Keeps the event for an exporter of this format.
  void Keep(const JsonEvent& event) {
    if (keep_) builder_.trace().kept.events.AddText(event.text);
  }
  void KeepPlace(trace::NameId name, bool instant, ChromeRow* row);
  bool TakeTime(const JsonEvent& event);

  // Of the argument at that place of an event.
  trace::StringId KeyOf(size_t place, std::string_view key);
  // What an event has as arguments and, where it is kept, beside them, one at a time.
  template <class Put>
  void ForEachArg(const JsonEvent& event, Put put);
  template <class Put>
  void PutArg(trace::Arg arg, const JsonValue& value, Put put);

  void DropFar();
  void DropFar(const ChromeTimes& times);
  void SpreadOver(const ChromeTimes& times);
  void Spread(int64_t begin_ns, int64_t end_ns);
  trace::StringId NameOfRow(const ChromeRow& row) const;
  bool RepeatsOthers(const ChromeRow& row);
  void TakePlanes();
  void TakePlane(std::string_view plane, ChromeRow* row);
  void TakePlanesStep(const ChromeSpan& span, ChromeRow* row);
  trace::NameId NameInPlane(trace::NameId id, bool device);
  void PlaceLoose();
  void PlaceArrows();
  void SeparateArrows();
  void MakeProcesses();
  void AddProcess(const std::string& key, ChromePid* pid);
  void MakeTracks();
  void MakeSteps(const std::unordered_map<const ChromeRow*, trace::TrackId>& tracks);
  void PutCounts();
  void TellFacts();
  void NameDevices();
  void TellReading(const JsonReading& reading, trace::Trace* trace);

  trace::Builder builder_;
  // In large pieces, as Builder's tracks.
  std::pmr::monotonic_buffer_resource room_{size_t{1} << 16};
  std::pmr::deque<ChromeRow> rows_{&room_};
  std::unordered_map<std::string, ChromeRow*> rows_by_id_;
  std::string row_id_;
  struct LastRow {
    std::string pid, tid, stream, device;
    JsonValue::Kind pid_kind, tid_kind;
    ChromeRow* row = nullptr;
    bool other_ids = false;  // than the row's first event has, as they are written
  };
  std::array<LastRow, kPlaces> last_rows_;
  bool other_ids_ = false;  // of the event at hand
  std::vector<ChromePid> pids_;
  std::unordered_map<std::string, uint32_t> pid_index_;
  std::deque<KnownCategory> categories_;
  KnownCategory* last_known_ = nullptr;
  std::unordered_map<std::string, KnownCategory*> categories_by_text_;
  StrangeCategories strange_;  // those that FindCategory does not know
  // Texts that stood in the file lately, by a quick hash: most stand there many times.
  std::vector<KnownText> known_texts_ = std::vector<KnownText>(1 << kKnownTextBits);
  std::string space_;  // for texts without their escapes
  const bool keep_;
  std::vector<std::pair<std::string, std::string>> facts_;
  std::unordered_map<std::string, trace::StringId> thread_names_;  // by pid and tid
  struct CountedAt {
    uint32_t pid;
    trace::NameId name;
    int64_t at_ns, value;
  };
  std::vector<CountedAt> counts_;
  std::vector<trace::Interval> windows_;
  std::vector<std::pair<FileStep, ChromeRow*>> steps_;
  std::vector<trace::NameId> names_in_plane_[2];  // by name: of hosts and of devices
  int64_t first_ns_ = INT64_MAX, last_ns_ = INT64_MIN;
  int64_t base_ns_ = 0;
  ChromeEdges edges_;
  struct BegunAside {
    Aside aside;
    std::string end_text;  // of an end as the file may have it, up to its time; "": not kept
  };
  std::vector<BegunAside> begun_asides_;
  std::unique_ptr<ChromeProcesses> processes_;  // from MakeProcesses on
  // Instants of no thread.
  struct Loose {
    uint32_t pid;
    ChromeSpan instant;
    std::vector<trace::Arg> args;
  };
  std::vector<Loose> loose_;
  ChromeTold told_;
  trace::StringId correlation_ = builder_.Text("correlation"), stream_ = builder_.Text("stream"),
                  device_ = builder_.Text("device"),
                  correlation_of_plane_ = builder_.Text("correlation_id"),
                  step_of_plane_ = builder_.Text("step_num"), root_of_plane_ = builder_.Text("_r");
};

}  // namespace crosscut::import
