// Spans that end wherever and whenever their work does, such as collectives and requests. Two
// instants record each of them, perhaps on two threads. They get tracks of their own, on which they
// lie side by side; requests get others than what has a layer.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "src/import/native/native_arguments.h"
#include "src/import/native/native_session.h"
#include "src/trace/builder.h"

namespace crosscut::import {

class NativeAsync {
 public:
  // The pointers must outlive this object.
  NativeAsync(trace::Builder* builder, trace::ProcessId process, const NativeSession* session,
              NativeArguments* arguments);

  // Whether instants of that name id are begins or ends of such spans.
  bool Knows(uint64_t name) const { return session_->name(name).async; }
  // Takes such an instant, at `at` in ns; returns its number for Take().
  size_t Mark(int64_t at, uint64_t name);
  // An argument of a mark, under the name id `key`, for which KnowsKey(). A tick is already
  // converted to ns.
  void Take(size_t mark, uint64_t key, int64_t value);
  // Any other argument of a mark: one of the span that begins with it. `value` is a name id where
  // `is_name`.
  void TakeForSpan(size_t mark, uint64_t key, uint64_t value, bool is_name);
  // Whether the argument's value is a tick.
  bool IsTick(uint64_t key) const { return session_->name(key).text == late_key_; }
  // Whether Take() uses the argument.
  bool KnowsKey(uint64_t key) const {
    const trace::StringId text = session_->name(key).text;
    return text == begin_key_ || text == end_key_ || text == late_key_;
  }

  // A span whose begin and end are known. Of requests the end's name and arguments count.
  void Add(int64_t begin, int64_t end, trace::NameId name);

  // Makes the tracks. A span without an end lasts to the first of `session_ends` after its begin,
  // else to `process_end`; all in ns, ascending. A request that does has the argument "open", 1.
  void Finish(const std::vector<int64_t>& session_ends, int64_t process_end);
  // How many ends have no begin, because that was not recorded. After Finish.
  int64_t unbegun() const { return unbegun_; }

 private:
  struct Mark_ {
    int64_t at;
    trace::NameId name;
    uint32_t number;  // in order of Mark()
    int64_t scope = 0;
    bool ends = false;
  };
  struct Argument {
    uint32_t mark;
    bool is_name;
    uint64_t key, value;
  };
  static constexpr uint32_t kNoMark = UINT32_MAX;
  static constexpr int64_t kFirstId = 1'000'000'001;  // no thread has it: pid_max is below
  struct Span {
    int64_t begin, end;
    trace::NameId name;
    bool ended;
    uint32_t mark = kNoMark;  // that has its arguments
  };
  // Its tracks, of which the free ones are taken by number.
  struct Lanes {
    std::vector<trace::TrackBuilder*> tracks;
    std::set<size_t> free;
    std::multimap<int64_t, size_t> busy;  // by when they will be free
  };
  bool IsRequest(trace::NameId name) const {
    return builder_->trace().names[name.value].kind == trace::Kind::kStep;
  }
  trace::TrackBuilder* LaneOf(const Span& span, Lanes* lanes);
  trace::NameId AsSpan(trace::NameId id);
  void AddArguments(uint32_t mark, trace::TrackBuilder* track);
  void Pair(const std::vector<int64_t>& session_ends, int64_t process_end);

  trace::Builder* builder_;
  trace::ProcessId process_;
  const NativeSession* session_;
  NativeArguments* arguments_;
  trace::StringId begin_key_, end_key_, late_key_, open_key_;
  std::vector<Mark_> marks_;
  std::vector<Argument> of_spans_;  // by mark, once Finish() has sorted them
  std::vector<Span> spans_;
  int64_t next_id_ = kFirstId;
  int64_t unbegun_ = 0;
};

}  // namespace crosscut::import
