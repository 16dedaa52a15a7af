// Writes XSpaces that TensorFlow's and XProf's readers accept. Names are interned once per plane.
// Every stat is in the oneof arm that the readers expect (correlation ids as uint64, step and group
// numbers and sizes as int64). No id is 0, and every event states its offset.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "src/base/status.h"
#include "src/xspace/notes.h"
#include "src/xspace/reader.h"

namespace crosscut::xspace {

class LineWriter {
 public:
  // Begins an event; the stats that follow belong to it.
  void Event(int64_t metadata_id, int64_t offset_ps, int64_t duration_ps);
  void Int64Stat(int64_t stat_id, int64_t value);
  void Uint64Stat(int64_t stat_id, uint64_t value);
  void DoubleStat(int64_t stat_id, double value);
  void TextStat(int64_t stat_id, std::string_view value);
  void RefStat(int64_t stat_id, int64_t value_id);  // the value is the stat name `value_id`
  void Note(uint64_t packed);                       // SpanNote or StepNote of notes.h
  // Call it before the first event.
  void Note(const LineNote& note);

 private:
  friend class PlaneWriter;
  friend class SpaceWriter;
  LineWriter() = default;
  LineWriter(int64_t id, std::string_view name, int64_t timestamp_ns);
  void EndEvent();

  std::string bytes_;  // of the line, without the event being written
  std::string event_;
};

class PlaneWriter {
 public:
  // Ids of names, from 1; equal names give equal ids.
  int64_t EventName(std::string_view name, uint64_t note = 0);  // NameNote of notes.h, packed
  int64_t StatName(std::string_view name);
  // The reference stays valid. Events lie at `timestamp_ns` + their offset.
  LineWriter& AddLine(int64_t id, std::string_view name, int64_t timestamp_ns);
  void Int64Stat(int64_t stat_id, int64_t value);
  void TextStat(int64_t stat_id, std::string_view value);
  void Note(const PlaneNote& note);
  // Puts in what another profiler's plane holds beside its id and its name, as it is: lines, stats,
  // names, and in each of them all fields, but that an id of a name is another where this plane has
  // it already. `edit` is called for each line: its timestamp may become another, and the note is
  // put behind what it holds. An error where Copy() has one: the plane is of no use then.
  struct PassedLine {
    int64_t timestamp_ns;
    LineNote note;
  };
  Status PassOn(const Plane& plane, const std::function<PassedLine(const Line&)>& edit);

 private:
  friend class SpaceWriter;
  struct Ids {
    std::unordered_map<std::string, int64_t> by_name;  // and note
    std::unordered_set<int64_t> taken;
    int64_t next = 1;
    int64_t Free();
  };
  PlaneWriter(int64_t id, std::string_view name);
  int64_t Intern(std::string_view name, uint32_t field, uint64_t note, Ids* ids);

  std::string head_, dictionaries_;
  Ids event_names_, stat_names_;
  std::deque<LineWriter> lines_;
};

class SpaceWriter {
 public:
  PlaneWriter& AddPlane(int64_t id, std::string_view name);  // the reference stays valid
  void AddHostname(std::string_view name);
  void AddError(std::string_view text);
  void AddWarning(std::string_view text);
  // The serialised space. Call it once. kLimit over 2 GiB, which no reader accepts.
  Result<std::string> Finish();

 private:
  std::string texts_;
  std::deque<PlaneWriter> planes_;
};

}  // namespace crosscut::xspace
