// Perfetto's own format: a protobuf stream of TracePackets with TrackEvents, names interned. Unlike
// Chrome's JSON it keeps every nanosecond, has streams that are no threads, and loses no span that
// overlaps another. Field numbers: perfetto_trace.proto of Perfetto v49.
#include <algorithm>
#include <deque>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/export/exporter.h"
#include "src/export/identities.h"
#include "src/export/left_out.h"
#include "src/export/nesting_rows.h"
#include "src/export/told_args.h"
#include "src/trace/gaps.h"
#include "src/trace/whole_spans.h"

namespace crosscut::exporting {
namespace {

using trace::SpanIndex;
using trace::Track;

enum class File : protozero::pbf_tag_type { kPacket = 1 };
enum class Packet : protozero::pbf_tag_type {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequence = 10,
  kTrackEvent = 11,
  kInterned = 12,
  kSequenceFlags = 13,
  kTrackDescriptor = 60
};
enum class Snapshot : protozero::pbf_tag_type { kClocks = 1, kPrimary = 2 };
enum class Clock : protozero::pbf_tag_type { kId = 1, kTimestamp = 2 };
enum class Event : protozero::pbf_tag_type {
  kCategories = 3,
  kAnnotations = 4,
  kType = 9,
  kName = 10,
  kTrack = 11,
  kCounterValue = 30,
  kFlows = 47,
  kEndingFlows = 48
};
enum class Annotation : protozero::pbf_tag_type { kName = 1, kInt = 4, kReal = 5, kText = 17 };
enum class Descriptor : protozero::pbf_tag_type {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParent = 5,
  kCounter = 8
};
enum class ProcessField : protozero::pbf_tag_type { kPid = 1, kName = 6 };
enum class ThreadField : protozero::pbf_tag_type { kPid = 1, kTid = 2, kName = 5 };
enum class Interned : protozero::pbf_tag_type {
  kCategories = 1,
  kEventNames = 2,
  kAnnotationNames = 3,
  kTexts = 29
};
enum class Entry : protozero::pbf_tag_type { kId = 1, kText = 2 };

enum EventType : int32_t { kBegin = 1, kEnd = 2, kInstant = 3, kCount = 4 };
constexpr uint32_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;  // builtin clocks
constexpr uint32_t kStateCleared = 1, kNeedsState = 2, kOnlySequence = 1;

template <class Message>
using Builder = protozero::pbf_builder<Message>;

class PerfettoWriter {
 public:
  PerfettoWriter(const trace::Trace& trace, Sink* sink)
      : trace_(trace), tracks_(trace), sink_(sink) {
    for (size_t i = 0; i < trace.flows.size(); ++i) {
      const trace::Flow& flow = trace.flows[i];
      if (flow.from == trace::kNoSpan || flow.to == trace::kNoSpan) continue;
      flows_[wholes_.Key(flow.from_track.value, flow.from)].push_back(i + 1);
      ending_flows_[wholes_.Key(flow.to_track.value, flow.to)].push_back(i + 1);
    }
  }

  Result<Gaps> Write() {
    Gaps gaps = GapsOf(trace_, kEvents, &identities_);
    PutClocks();
    PutGaps(gaps);
    for (uint32_t i = 0; i < trace_.processes.size() && status_.ok(); ++i) PutProcess(i);
    for (const trace::CounterSeries& series : trace_.counters) PutCounter(series);
    Flush(0);
    if (!status_.ok()) return status_;
    return gaps;
  }

 private:
  uint64_t At(int64_t ns) const { return static_cast<uint64_t>(ns + identities_.shift_ns()); }

  // ---- packets ----
  void Put(const std::string& packet) {
    if (!status_.ok()) return;
    Builder<File>(packets_).add_message(File::kPacket, packet);
    Flush(1 << 20);
  }
  void Flush(size_t least) {
    if (packets_.size() < least || !status_.ok()) return;
    status_ = sink_->Write(packets_);
    packets_.clear();
  }

  void PutClocks() {
    const int64_t now = trace_.processes.empty() ? 0 : trace_.processes[0].start_ns;
    std::string packet;
    Builder<Packet> builder(packet);
    builder.add_uint32(Packet::kSequence, kOnlySequence);
    builder.add_uint32(Packet::kSequenceFlags, kStateCleared);
    {
      Builder<Snapshot> snapshot(builder, Packet::kClockSnapshot);
      for (const auto& [id, ns] :
           {std::pair(kBoottime, At(now)), std::pair(kMonotonic, At(now)),
            std::pair(kRealtime, static_cast<uint64_t>(
                                     std::max<int64_t>(0, now + trace_.realtime_offset_ns)))}) {
        Builder<Clock> clock(snapshot, Snapshot::kClocks);
        clock.add_uint32(Clock::kId, id);
        clock.add_uint64(Clock::kTimestamp, ns);
      }
      snapshot.add_int32(Snapshot::kPrimary, static_cast<int32_t>(kBoottime));
    }
    Put(packet);
  }

  template <class More>
  uint64_t PutDescriptor(uint64_t parent, std::string_view name, More more) {
    const uint64_t uuid = next_uuid_++;
    std::string packet;
    Builder<Packet> builder(packet);
    builder.add_uint32(Packet::kSequence, kOnlySequence);
    {
      Builder<Descriptor> descriptor(builder, Packet::kTrackDescriptor);
      descriptor.add_uint64(Descriptor::kUuid, uuid);
      if (parent != 0) descriptor.add_uint64(Descriptor::kParent, parent);
      if (!name.empty()) descriptor.add_string(Descriptor::kName, name.data(), name.size());
      more(descriptor);
    }
    Put(packet);
    return uuid;
  }
  uint64_t PutDescriptor(uint64_t parent, std::string_view name) {
    return PutDescriptor(parent, name, [](Builder<Descriptor>&) {});
  }

  // What an event says, before it is written: interning may add to its packet.
  struct Said {
    int64_t at_ns;
    EventType type;
    uint64_t track;
    std::string_view name, category;
    const std::vector<uint64_t>* flows = nullptr;
    const std::vector<uint64_t>* ending = nullptr;
    const trace::Args* args = nullptr;
    uint32_t args_of = 0;
    int64_t value = 0;
    const trace::Step* step = nullptr;
  };

  void Put(const Said& said) {
    std::string event, interned;
    {
      Builder<Event> out(event);
      Builder<Interned> fresh(interned);
      out.add_int32(Event::kType, said.type);
      out.add_uint64(Event::kTrack, said.track);
      if (!said.name.empty()) {
        out.add_uint64(Event::kName, names_.IdOf(said.name, Interned::kEventNames, &fresh));
      }
      if (!said.category.empty()) {
        out.add_uint64(Event::kCategories,
                       categories_.IdOf(said.category, Interned::kCategories, &fresh));
      }
      if (said.args != nullptr) {
        ForEachTold(said.args->of(said.args_of),
                    [&](const trace::Arg& arg) { PutArg(arg, &out, &fresh); });
      }
      if (said.step != nullptr) {
        PutNumber("number", said.step->number, &out, &fresh);
        if (said.step->after_switch) PutNumber("after_switch", 1, &out, &fresh);
        if (said.step->open) PutNumber("open", 1, &out, &fresh);
      }
      if (said.flows != nullptr) {
        for (const uint64_t flow : *said.flows) out.add_fixed64(Event::kFlows, flow);
      }
      if (said.ending != nullptr) {
        for (const uint64_t flow : *said.ending) out.add_fixed64(Event::kEndingFlows, flow);
      }
      if (said.type == kCount) out.add_int64(Event::kCounterValue, said.value);
    }
    std::string packet;
    Builder<Packet> builder(packet);
    builder.add_uint64(Packet::kTimestamp, At(said.at_ns));
    builder.add_uint32(Packet::kSequence, kOnlySequence);
    builder.add_uint32(Packet::kSequenceFlags, kNeedsState);
    if (!interned.empty()) builder.add_message(Packet::kInterned, interned);
    builder.add_message(Packet::kTrackEvent, event);
    Put(packet);
  }

  void PutNumber(std::string_view key, int64_t value, Builder<Event>* out,
                 Builder<Interned>* fresh) {
    Builder<Annotation> annotation(*out, Event::kAnnotations);
    annotation.add_uint64(Annotation::kName, keys_.IdOf(key, Interned::kAnnotationNames, fresh));
    annotation.add_int64(Annotation::kInt, value);
  }

  void PutArg(const trace::Arg& arg, Builder<Event>* out, Builder<Interned>* fresh) {
    Builder<Annotation> annotation(*out, Event::kAnnotations);
    annotation.add_uint64(Annotation::kName,
                          keys_.IdOf(trace_.text(arg.key), Interned::kAnnotationNames, fresh));
    double real = 0;
    if (trace_.RealOf(arg, &real)) {
      annotation.add_double(Annotation::kReal, real);
    } else if (arg.is_text) {
      annotation.add_uint64(Annotation::kText,
                            texts_.IdOf(trace_.text(arg.text()), Interned::kTexts, fresh));
    } else {
      annotation.add_int64(Annotation::kInt, arg.value);
    }
  }

  // Ids of texts of one kind, each told with its first use.
  class Ids {
   public:
    uint64_t IdOf(std::string_view text, Interned kind, Builder<Interned>* fresh) {
      const auto [at, first] = ids_.emplace(text, ids_.size() + 1);
      if (first) {
        Builder<Entry> entry(*fresh, kind);
        entry.add_uint64(Entry::kId, at->second);
        entry.add_bytes(Entry::kText, text.data(), text.size());
      }
      return at->second;
    }

   private:
    std::unordered_map<std::string_view, uint64_t> ids_;  // of texts that the trace owns
  };

  // ---- the trace ----
  // Sentences that are seen: at the begin, on a track of their own.
  void PutGaps(const Gaps& gaps) {
    if (gaps.all().empty()) return;
    const int64_t at = trace_.processes.empty() ? 0 : trace_.processes[0].start_ns;
    const uint64_t track = PutDescriptor(0, "what is missing");
    for (const std::string& gap : gaps.all()) {
      Put({at, kInstant, track, sentences_.emplace_back(gap), "gap"});
    }
  }

  void PutProcess(uint32_t index) {
    const trace::Process& process = trace_.processes[index];
    const int64_t pid = identities_.pid(index);
    const std::string_view name = trace_.text(process.name);
    const uint64_t uuid = PutDescriptor(0, "", [&](Builder<Descriptor>& descriptor) {
      Builder<ProcessField> fields(descriptor, Descriptor::kProcess);
      fields.add_int32(ProcessField::kPid, static_cast<int32_t>(pid));
      fields.add_string(ProcessField::kName, name.data(), name.size());
    });
    process_uuids_.push_back(uuid);
    PutSteps(process, uuid);
    std::map<int64_t, uint64_t> threads, devices;
    for (const uint32_t t : tracks_.of({index})) {
      const Track& track = trace_.tracks[t];
      const uint64_t own = track.kind == trace::TrackKind::kDevice ? StreamOf(track, uuid, &devices)
                                                                   : ThreadOf(t, pid, &threads);
      PutTrack(t, own);
    }
  }

  uint64_t ThreadOf(uint32_t index, int64_t pid, std::map<int64_t, uint64_t>* threads) {
    const Track& track = trace_.tracks[index];
    const std::string_view name = trace_.text(track.name);
    uint64_t& known = (*threads)[track.os_id != 0 ? track.os_id : identities_.tid(index)];
    if (known != 0) return PutDescriptor(known, name);  // a second track of one thread
    return known = PutDescriptor(0, "", [&](Builder<Descriptor>& descriptor) {
             Builder<ThreadField> fields(descriptor, Descriptor::kThread);
             fields.add_int32(ThreadField::kPid, static_cast<int32_t>(pid));
             fields.add_int32(ThreadField::kTid, static_cast<int32_t>(identities_.tid(index)));
             if (!name.empty()) fields.add_string(ThreadField::kName, name.data(), name.size());
           });
  }

  uint64_t StreamOf(const Track& track, uint64_t process, std::map<int64_t, uint64_t>* devices) {
    uint64_t& device = (*devices)[track.device];
    if (device == 0) {
      std::string name = "device " + std::to_string(track.device);
      const std::string_view known = trace_.text(track.device_name);
      if (!known.empty()) name += " (" + std::string(known) + ")";
      device = PutDescriptor(process, name);
    }
    const std::string_view name = trace_.text(track.name);
    return PutDescriptor(
        device, name.empty() ? "stream " + std::to_string(track.os_id) : std::string(name));
  }

  void PutSteps(const trace::Process& process, uint64_t parent) {
    if (process.steps.empty()) return;
    const uint64_t track = PutDescriptor(parent, "steps");
    const bool planned = trace::HasStepPlan(process);
    for (const trace::Step& step : process.steps) {
      Said begun = {step.begin_ns, kBegin, track, trace_.text(step.kind),
                    planned ? trace::StepLevelName(step.level) : "step"};
      begun.step = &step;
      Put(begun);
      Put({step.end_ns, kEnd, track, "", ""});
    }
  }

  // Events of one of their tracks nest, so that spans which do not stand on further ones.
  void PutTrack(uint32_t index, uint64_t uuid) {
    const Track& track = trace_.tracks[index];
    const NestingRows rows(trace_, track.spans, wholes_[index]);
    PutRow(index, rows, 0, uuid);
    for (uint32_t row = 1; row < rows.size(); ++row) {
      const std::string name(trace_.text(track.name));
      PutRow(
          index, rows, row,
          PutDescriptor(uuid, name + (name.empty() ? "(" : " (") + std::to_string(row + 1) + ")"));
    }
    PutInstants(track, uuid);
  }

  void PutRow(uint32_t index, const NestingRows& rows, uint32_t row, uint64_t uuid) {
    const Track& track = trace_.tracks[index];
    const trace::Spans& spans = track.spans;
    const trace::WholeSpans& wholes = wholes_[index];
    std::vector<SpanIndex> open;
    const auto end_until = [&](auto goes_on) {
      while (!open.empty() && !goes_on(open.back())) {
        Put({wholes.end_ns(open.back()), kEnd, uuid, "", ""});
        open.pop_back();
      }
    };
    for (SpanIndex s = 0; s < spans.size() && status_.ok(); ++s) {
      if (wholes.first(s) != s || rows.of(s) != row) continue;
      end_until([&](SpanIndex around) { return rows.Holds(around, s); });
      const trace::Name& name = trace_.name(spans.name[s]);
      Said said = {spans.begin_ns[s], kBegin, uuid, trace_.text(name.text), CategoryOf(name)};
      const auto flows = flows_.find(wholes_.Key(index, s));
      if (flows != flows_.end()) said.flows = &flows->second;
      const auto ending = ending_flows_.find(wholes_.Key(index, s));
      if (ending != ending_flows_.end()) said.ending = &ending->second;
      said.args = &track.args;
      said.args_of = s;
      Put(said);
      open.push_back(s);
    }
    end_until([](SpanIndex) { return false; });
  }

  void PutInstants(const Track& track, uint64_t uuid) {
    for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
      const trace::Name& name = trace_.name(track.instants.name[i]);
      Said said = {track.instants.at_ns[i], kInstant, uuid, trace_.text(name.text),
                   CategoryOf(name)};
      said.args = &track.instant_args;
      said.args_of = i;
      Put(said);
    }
    for (const trace::Loss& loss : track.losses) {
      Put({loss.begin_ns, kInstant, uuid, sentences_.emplace_back(trace::Missing(trace_, loss)),
           "loss"});
    }
  }

  void PutCounter(const trace::CounterSeries& series) {
    const std::string_view name = trace_.name_text(series.name);
    const uint64_t uuid = PutDescriptor(
        process_uuids_[series.process.value], name, [](Builder<Descriptor>& descriptor) {
          descriptor.add_message(Descriptor::kCounter, std::string());
        });
    for (size_t i = 0; i < series.at_ns.size(); ++i) {
      Said said = {series.at_ns[i], kCount, uuid, "", ""};
      said.value = series.value[i];
      Put(said);
    }
  }

  static std::string_view CategoryOf(const trace::Name& name) {
    if (name.scope()) return "operation";
    const std::string_view layer = trace::LayerName(name.layer);
    return layer.empty() ? "span" : layer;
  }

  const trace::Trace& trace_;
  const trace::TracksByProcess tracks_;
  Sink* sink_;
  Status status_;
  std::string packets_;  // that are not written yet
  const Identities identities_{trace_};
  const trace::WholeSpansByTrack wholes_{trace_};
  std::unordered_map<uint64_t, std::vector<uint64_t>> flows_, ending_flows_;
  Ids names_, categories_, keys_, texts_;
  uint64_t next_uuid_ = 1;
  std::vector<uint64_t> process_uuids_;
  std::deque<std::string> sentences_;  // that stand for names
};

}  // namespace

Result<Gaps> WritePerfetto(const trace::Trace& trace, Sink* sink) {
  return PerfettoWriter(trace, sink).Write();
}

}  // namespace crosscut::exporting
