// Threads that mark: spans that nest, operations, spans that cross, counters, instants, names.
#include <pthread.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/stress/actors.h"

namespace crosscut::stress {
namespace {

constexpr uint32_t kSpans = 12, kOperations = 4, kCrossing = 4;

struct Names {
  uint32_t seq = 0, instant = 0, at = 0;
  uint32_t spans[kSpans] = {}, operations[kOperations] = {}, crossing[kCrossing] = {};
} names;

uint32_t Intern(Marker* marker, const std::string& text, crosscut_kind kind, unsigned flags = 0) {
  uint32_t id = 0;
  const auto hash = static_cast<int64_t>(HashOf(text));
  (void)marker->Do(What::kIntern, 0, hash, [&](Op* op) {
    id = op->name =
        crosscut_intern(text.data(), text.size(), kind,
                        kind == CROSSCUT_SPAN ? CROSSCUT_NATIVE : CROSSCUT_LAYER_NONE, flags, 0);
  });
  if (id == 0) Found("a name has no id: %s", text.c_str());
  return id;
}

enum class By : uint8_t { kEnd, kName };

struct Open {
  uint32_t index, name;
  By by;
};

// What one thread has open, and its next move.
class Stack {
 public:
  Stack(Marker* marker, Random* random) : marker_(marker), random_(random) {}
  void Move();
  void EndAll() {
    while (!open_.empty()) EndOne(open_.size() - 1);
  }

 private:
  void Begin();
  void EndOne(size_t at);
  void NewName();

  Marker* marker_;
  Random* random_;
  std::vector<Open> open_;
};

void Stack::Begin() {
  const uint64_t kind = random_->Below(10);
  uint32_t name = names.spans[random_->Below(kSpans)];
  By by = By::kEnd;
  if (kind == 0) name = names.operations[random_->Below(kOperations)], by = By::kName;
  if (kind == 1) name = names.crossing[random_->Below(kCrossing)], by = By::kName;
  if (kind == 2) by = By::kName;
  const uint32_t index =
      random_->Chance(50)
          ? marker_->Do(What::kBegin, name, 0, [=](Op*) { crosscut_begin_inline(name); })
          : marker_->Do(What::kBegin, name, 0, [=](Op*) { crosscut_begin(name); });
  open_.push_back({index, name, by});
}

// One that ends by name may lie below others only where it crosses, and then the last of its name.
void Stack::EndOne(size_t at) {
  const Open open = open_[at];
  open_.erase(open_.begin() + static_cast<ptrdiff_t>(at));
  if (open.by == By::kName) {
    (void)marker_->Do(What::kEndNamed, open.name, open.index,
                      [&](Op*) { crosscut_end_named(open.name); });
  } else if (random_->Chance(50)) {
    (void)marker_->Do(What::kEnd, open.name, open.index, [](Op*) { crosscut_end_inline(); });
  } else {
    (void)marker_->Do(What::kEnd, open.name, open.index, [](Op*) { crosscut_end(); });
  }
}

void Stack::NewName() {
  const std::string text =
      "new name " + std::to_string(marker_->Number()) + std::string(random_->Below(60), 'x');
  const uint32_t name = Intern(marker_, text, CROSSCUT_SPAN);
  if (name == 0) return;
  const uint32_t index =
      marker_->Do(What::kBegin, name, 0, [=](Op*) { crosscut_begin_inline(name); });
  (void)marker_->Do(What::kEnd, name, index, [](Op*) { crosscut_end_inline(); });
}

void Stack::Move() {
  const uint64_t move = random_->Below(100);
  if (move < 30 && open_.size() < 12) return Begin();
  if (move < 55 && !open_.empty()) return EndOne(open_.size() - 1);
  if (move < 85) {
    const int64_t number = marker_->Number();
    (void)marker_->Do(What::kCounter, names.seq, number,
                      [=](Op*) { crosscut_counter(names.seq, number); });
  } else if (move < 94) {
    (void)marker_->Do(What::kInstant, names.instant, 0,
                      [](Op*) { crosscut_instant(names.instant); });
  } else if (move < 98) {
    (void)marker_->Do(What::kSpanAt, names.at, 0,
                      [](Op* op) { crosscut_span_at(names.at, op->begin, crosscut_now()); });
  } else if (the_cast.names) {
    NewName();
  }
}

constexpr uint32_t kManyNames = 1200;

struct Job {
  Marker* marker;
  uint64_t seed;
};

}  // namespace

void InternNames(Marker* marker) {
  names.seq = Intern(marker, "seq", CROSSCUT_SPAN);
  names.instant = Intern(marker, "instant", CROSSCUT_SPAN);
  names.at = Intern(marker, "at", CROSSCUT_SPAN);
  char text[32];
  for (uint32_t i = 0; i < kSpans; ++i) {
    snprintf(text, sizeof text, "span %u", i);
    names.spans[i] = Intern(marker, text, CROSSCUT_SPAN);
  }
  for (uint32_t i = 0; i < kOperations; ++i) {
    snprintf(text, sizeof text, "operation %u", i);
    names.operations[i] = Intern(marker, text, CROSSCUT_OPERATION);
  }
  for (uint32_t i = 0; i < kCrossing; ++i) {
    snprintf(text, sizeof text, "crossing %u", i);
    names.crossing[i] = Intern(marker, text, CROSSCUT_SPAN, CROSSCUT_CROSSES);
  }
  for (uint32_t i = 0; the_cast.many_names && i < kManyNames; ++i) {
    snprintf(text, sizeof text, "one of many %u", i);
    (void)Intern(marker, text, CROSSCUT_SPAN);
  }
}

void MarkAwhile(Marker* marker, Random* random, uint32_t marks) {
  Stack stack(marker, random);
  for (uint32_t i = 0; i < marks && !marker->full(); ++i) stack.Move();
  stack.EndAll();
}

void Marks(uint64_t seed) {
  Marker marker("marks");
  Random random(seed);
  Stack stack(&marker, &random);
  while (!Stopped()) {
    for (uint64_t i = random.Below(300); i > 0 && !marker.full(); --i) stack.Move();
    marker.Tick("rests");
    Nap(random.Chance(5) ? random.Below(20'000) : random.Below(400));
  }
  stack.EndAll();
}

// One thread after the other, each for a few marks.
void Pool(uint64_t seed) {
  Marker marker("pool");
  Random random(seed);
  while (!Stopped() && !marker.full()) {
    Job job = {&marker, random.Next()};
    pthread_t thread;
    const auto body = [](void* at) -> void* {
      const Job* job = static_cast<Job*>(at);
      Random random(job->seed);
      job->marker->ThreadIs();
      MarkAwhile(job->marker, &random, static_cast<uint32_t>(random.Below(60)));
      return nullptr;
    };
    if (pthread_create(&thread, nullptr, body, &job) != 0) continue;
    pthread_join(thread, nullptr);
    marker.Tick("rests");
    Nap(random.Below(600));
  }
}

// Marks a little now and then, so that one chunk of the ring spans days, of which parts are in the
// log. No thread may be silent for three days (docs/format.md): not even one that has marked all
// that it can.
void Days(uint64_t seed) {
  constexpr uint64_t kHourNs = 3'600'000'000'000;
  Marker marker("days");
  Random random(seed);
  for (uint64_t left = 100 * kHourNs; !Stopped();) {
    MarkAwhile(&marker, &random, static_cast<uint32_t>(1 + random.Below(8)));
    const uint64_t ns = random.Below(4 * kHourNs < left ? 4 * kHourNs : left);
    HoursGoBy(ns);
    left -= ns;
    marker.Tick("rests");
    Nap(40'000);
  }
}

}  // namespace crosscut::stress
