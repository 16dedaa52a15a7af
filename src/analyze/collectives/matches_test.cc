#include "src/analyze/collectives/matches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/collectives/rank_waits.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Parse;
using testing::Rows;

struct Kind {
  int size = 2;  // of the group
  std::string name = "gloo:all_reduce";
};

std::string Call(int64_t begin, int64_t end, const std::string& group, int64_t seq,
                 const Kind& kind = {}) {
  std::string text = "span " + kind.name + " " + std::to_string(begin) + " " + std::to_string(end) +
                     " comm\narg \"Collective name\" allreduce\narg \"Process Group Name\" " +
                     group + "\narg \"Group size\" " + std::to_string(kind.size) + "\n";
  if (seq >= 0) text += "arg Seq " + std::to_string(seq) + "\n";
  return text + "arg dtype Float\narg \"In msg nelems\" 10\n";
}

std::string Rank(int rank, int64_t end) {
  return "process rank" + std::to_string(rank) + " window=0.." + std::to_string(end) +
         "\nmeta rank " + std::to_string(rank) + "\nmeta world_size 4\nasync collectives\n";
}

constexpr const char* kTrace = "# crosscut trace\n";

TEST(Collectives, OneGroupIsNotBlamedForTheWaitsOfAnother) {
  const trace::Trace trace =
      Parse(kTrace + Rank(0, 900) + Call(0, 100, "a", 0) + Rank(1, 900) + Call(90, 100, "a", 0) +
            Rank(2, 900) + Call(300, 400, "b", 0) + Rank(3, 900) + Call(380, 400, "b", 0));
  EXPECT_THAT(Rows(trace, "stragglers"), ElementsAre("rank0 a 1 90 0 0 0", "rank1 a 1 0 1 90 0",
                                                     "rank2 b 1 80 0 0 0", "rank3 b 1 0 1 80 0"));
  EXPECT_THAT(Rows(trace, "collectives"),
              ElementsAre("a gloo:all_reduce 1 2 40 10 90 90 rank1 1 4000000000.000000 -",
                          "b gloo:all_reduce 1 2 40 20 80 80 rank3 1 2000000000.000000 -"));
}

TEST(Collectives, MoreBytesThan64BitsHoldAreNotKnown) {
  std::string text = kTrace + Rank(0, 900) + Call(0, 100, "a", 0);
  text.replace(text.find("nelems\" 10"), 10, "nelems\" 4611686018427387905");
  EXPECT_THAT(Rows(Parse(text), "collective_calls"),
              ElementsAre(::testing::EndsWith(" 0 100 ? - ? ? 2")));
}

TEST(Collectives, ARankWhoseRecordingStartsLateIsNotBlamedForWhatWasBefore) {
  const trace::Trace trace = Parse(kTrace + Rank(0, 900) + Call(0, 100, "a", 0) +
                                   Call(200, 300, "a", 1) + Rank(1, 900) + Call(270, 300, "a", 1));
  EXPECT_THAT(Rows(trace, "stragglers"), ElementsAre("rank0 a 1 70 0 0 1", "rank1 a 1 0 1 70 0"));
  EXPECT_THAT(Rows(trace, "unmatched_collectives"),
              ElementsAre("rank0 a gloo:all_reduce rank missing 1"));
}

TEST(Collectives, WithoutOrdinalsOnlyEqualCountsAreCompared) {
  const trace::Trace trace =
      Parse(kTrace + Rank(0, 900) + Call(0, 100, "a", -1) + Call(200, 300, "a", -1) + Rank(1, 900) +
            Call(270, 300, "a", -1));
  EXPECT_THAT(Rows(trace, "stragglers"), IsEmpty());
  EXPECT_THAT(Rows(trace, "unmatched_collectives"),
              ElementsAre("rank0 a gloo:all_reduce counts differ 2",
                          "rank1 a gloo:all_reduce counts differ 1"));
}

TEST(Collectives, ARankOfTheGroupThatIsNotHereIsNotGuessed) {
  const trace::Trace trace = Parse(kTrace + Rank(0, 900) + Call(0, 100, "a", 0, {3}) +
                                   Rank(1, 900) + Call(90, 100, "a", 0, {3}));
  EXPECT_THAT(Rows(trace, "collectives"), IsEmpty());
  EXPECT_THAT(Rows(trace, "unmatched_collectives"),
              ElementsAre("rank0 a gloo:all_reduce rank missing 1",
                          "rank1 a gloo:all_reduce rank missing 1"));
}

TEST(Collectives, WhoLeavesABroadcastBeforeTheLastComesDidNotWaitForIt) {
  const Kind broadcast = {2, "gloo:broadcast"};
  const trace::Trace trace = Parse(kTrace + Rank(0, 900) + Call(0, 10, "a", 0, broadcast) +
                                   Rank(1, 900) + Call(500, 520, "a", 0, broadcast));
  EXPECT_THAT(Rows(trace, "stragglers"), ElementsAre("rank0 a 1 0 0 0 0", "rank1 a 1 0 1 0 0"));
}

// Rank 0 sends and is gone; ranks 1 and 2 are served together.
TEST(Collectives, SkewAndTransferOfABroadcastAreNotThoseOfWhoLeftBefore) {
  const Kind broadcast = {3, "gloo:broadcast"};
  const trace::Trace trace =
      Parse(kTrace + Rank(0, 900) + Call(0, 10, "a", 0, broadcast) + Rank(1, 900) +
            Call(500, 620, "a", 0, broadcast) + Rank(2, 900) + Call(600, 640, "a", 0, broadcast));
  EXPECT_THAT(Rows(trace, "collectives"),
              ElementsAre("a gloo:broadcast 1 3 40 20 600 100 rank2 1 2000000000.000000 -"));
}

TEST(Collectives, BytesThatAreNotAllStatedAreNotKnown) {
  const auto without = [](std::string call) { return call.substr(0, call.find("arg dtype")); };
  const trace::Trace trace =
      Parse(kTrace + Rank(0, 900) + Call(0, 100, "a", 0) + without(Call(200, 300, "a", 1)) +
            Rank(1, 900) + Call(90, 100, "a", 0) + without(Call(290, 300, "a", 1)));
  EXPECT_THAT(Rows(trace, "collectives"),
              ElementsAre("a gloo:all_reduce 2 2 ? 20 180 180 rank1 2 nan -"));
}

TEST(Collectives, BytesThatDoNotFitAreNotKnown) {
  std::string call = Call(0, 100, "a", 0);
  call.replace(call.find("nelems\" 10"), 10, "nelems\" 4611686018427387905");
  EXPECT_EQ(testing::Compute(Parse(kTrace + Rank(0, 900) + call), "collective_calls")
                .integers("bytes")[0],
            kMissing);
}

TEST(Collectives, OfThreeProcessesThatStateNoGroupOnlyThoseWithOneAreCompared) {
  const auto rows = [](const std::string& info) {
    std::string text = kTrace;
    for (int rank = 0; rank < 3; ++rank) {
      text += "process rank" + std::to_string(rank) + " window=0..900\nmeta rank " +
              std::to_string(rank) + "\n" + info + "async collectives\nspan gloo:all_reduce " +
              std::to_string(30 * rank) + " 100 comm\n";
    }
    return Rows(Parse(text), "stragglers");
  };
  EXPECT_THAT(rows(""), IsEmpty());
  EXPECT_THAT(rows("meta distributedInfo {\"world_size\": 3, \"pg_count\": 2}\n"), IsEmpty());
  EXPECT_THAT(rows("meta distributedInfo {\"world_size\": 3, \"pg_count\": 1}\n"),
              ElementsAre("rank0 - 1 60 0 0 0", "rank1 - 1 30 0 0 0", "rank2 - 1 0 1 90 0"));
}

TEST(Collectives, ARestartedJobIsNotComparedWithWhatItWasBefore) {
  std::string text = kTrace;
  for (int restart = 0; restart < 2; ++restart) {
    for (int rank = 0; rank < 2; ++rank) {
      const int64_t from = 1000 * restart;
      text += "process p" + std::to_string(restart) + std::to_string(rank) +
              " window=0..2000\nmeta rank " + std::to_string(rank) + "\nmeta restart " +
              std::to_string(restart) + "\nasync collectives\n" +
              Call(from + 30 * rank, from + 100, "a", 0);
    }
  }
  EXPECT_THAT(Rows(Parse(text), "stragglers"), ElementsAre("p00 a 1 30 0 0 0", "p01 a 1 0 1 30 0",
                                                           "p10 a 1 30 0 0 0", "p11 a 1 0 1 30 0"));
}

TEST(Collectives, JobsBesideEachOtherAreNotAddedUp) {
  std::string text = kTrace;
  for (int job = 0; job < 2; ++job) {
    const std::string launcher = "launcher" + std::to_string(job);
    text += "process " + launcher + " window=0..2000\n";
    for (int rank = 0; rank < 2; ++rank) {
      text += "process p" + std::to_string(job) + std::to_string(rank) + " parent=" + launcher +
              " window=0..2000\nmeta rank " + std::to_string(rank) + "\nasync collectives\n" +
              Call(30 * rank * (job + 1), 100, "a", 0) +
              "thread main lead\nstep train 0 200 number=7 level=3\n";
    }
  }
  const trace::Trace trace = Parse(text);
  EXPECT_THAT(Rows(trace, "straggler_steps"),
              ElementsAre("7 p01 30 30 1 1 launcher0", "7 p11 60 60 1 1 launcher1"));
  EXPECT_THAT(Rows(trace, "collectives"),
              ElementsAre("a gloo:all_reduce 1 2 40 70 30 30 p01 1 571428571.428571 launcher0",
                          "a gloo:all_reduce 1 2 40 40 60 60 p11 1 1000000000.000000 launcher1"));
}

TEST(Collectives, SendsAndReceivesAreToldApart) {
  const trace::Trace trace = Parse(kTrace + Rank(0, 900) + Call(0, 50, "a", -1, {2, "gloo:send"}) +
                                   Rank(1, 900) + Call(0, 50, "a", -1, {2, "gloo:recv"}));
  EXPECT_THAT(Rows(trace, "unmatched_collectives"),
              ElementsAre("rank0 a gloo:send between two ranks 1",
                          "rank1 a gloo:recv between two ranks 1"));
}

TEST(Collectives, WhoSendsABroadcastIsNotTakenForLateWhereNoClockSays) {
  const std::string text = kTrace + Rank(0, 900) + Call(0, 10, "a", 0, {2, "gloo:broadcast"}) +
                           Rank(1, 900) + Call(5, 100, "a", 0, {2, "gloo:broadcast"});
  trace::Trace trace = Parse(text);
  EXPECT_THAT(Rows(trace, "stragglers"), ElementsAre("rank0 a 1 5 0 0 0", "rank1 a 1 0 1 5 0"));
  trace.clock = "not known";
  EXPECT_THAT(Rows(trace, "stragglers"), IsEmpty());
  EXPECT_THAT(Rows(trace, "collectives"), IsEmpty());
  EXPECT_THAT(Rows(trace, "unmatched_collectives"),
              ElementsAre("rank0 a gloo:broadcast it has a root, the ranks no common clock 1",
                          "rank1 a gloo:broadcast it has a root, the ranks no common clock 1"));
}

TEST(Collectives, OfWhichRanksStateOtherSizesAreComparedOnlyWhereRanksMay) {
  const auto trace = [](const std::string& name, const char* elements) {
    std::string other = Call(30, 100, "a", 0, {2, name});
    other.replace(other.find("nelems\" 10"), 10, std::string("nelems\" ") + elements);
    return Parse(kTrace + Rank(0, 900) + Call(0, 100, "a", 0, {2, name}) + Rank(1, 900) + other);
  };
  EXPECT_THAT(Rows(trace("gloo:all_reduce", "20"), "unmatched_collectives"),
              ElementsAre("rank0 a gloo:all_reduce sizes differ 1",
                          "rank1 a gloo:all_reduce sizes differ 1"));
  EXPECT_THAT(Rows(trace("gloo:all_reduce", "10"), "unmatched_collectives"), IsEmpty());
  for (const std::string name : {"gloo:all_gather", "gloo:all_to_all"}) {
    EXPECT_THAT(Rows(trace(name, "20"), "unmatched_collectives"), IsEmpty());
    EXPECT_EQ(testing::Compute(trace(name, "20"), "collectives").integers("bytes")[0], 80)
        << "the most that a rank states";
  }
}

TEST(Collectives, OfKernelsThatStateNoGroupThoseOfANameAreCompared) {
  const trace::Trace trace = Parse(R"(# crosscut trace
process rank0 window=0..100
device s device=0 stream=1
span nccl_a 0 30 device
span nccl_a 40 50 device
process rank1 window=0..100
device s device=0 stream=1
span nccl_a 20 30 device
span nccl_a 35 50 device
span nccl_b 60 70 device
)");
  EXPECT_THAT(Rows(trace, "stragglers"), ElementsAre("rank0 - 2 20 1 5 0", "rank1 - 2 5 1 20 1"));
}

// A job of four ranks: collectives of all of them, and of two groups of two. Each rank comes when
// it comes; all leave when the last has come. Some recordings start late, some ranks are not here.
class Job {
 public:
  explicit Job(uint64_t seed) : random_(seed) {
    with_ordinals_ = random_() % 3 != 0;
    one_clock_ = random_() % 2 == 0;
    const int64_t absent = random_() % 4 == 0 ? static_cast<int64_t>(random_() % 4) : -1;
    for (int rank = 0; rank < 4; ++rank) {
      recorded_from_[rank] = rank == absent ? INT64_MAX : random_() % 3 == 0 ? 2000 : 0;
    }
    for (int i = 0; i < 20; ++i) Collect();
  }

  struct Part {
    int rank;
    int64_t begin, end;
  };
  struct Truth {
    std::string group;
    int64_t ordinal;
    std::vector<Part> parts;
  };

  trace::Trace Trace() const {
    std::string text = kTrace;
    for (int rank = 0; rank < 4; ++rank) {
      if (recorded_from_[rank] == INT64_MAX) continue;
      text += Rank(rank, 1 << 20);
      for (const Truth& truth : truths_) {
        for (const Part& part : truth.parts) {
          if (part.rank != rank || !Recorded(part)) continue;
          text += Call(part.begin, part.end, truth.group, with_ordinals_ ? truth.ordinal : -1,
                       {static_cast<int>(truth.parts.size())});
        }
      }
    }
    trace::Trace trace = Parse(text);
    if (!one_clock_) trace.clock = "not known";
    return trace;
  }
  bool Recorded(const Part& part) const { return part.begin >= recorded_from_[part.rank]; }
  bool Whole(const Truth& truth) const {
    return std::all_of(truth.parts.begin(), truth.parts.end(),
                       [&](const Part& part) { return Recorded(part); });
  }
  const std::vector<Truth>& truths() const { return truths_; }
  bool with_ordinals() const { return with_ordinals_; }

 private:
  void Collect() {
    const auto which = random_() % 3;
    const std::vector<int> ranks = which == 0   ? std::vector<int>{0, 1, 2, 3}
                                   : which == 1 ? std::vector<int>{0, 1}
                                                : std::vector<int>{2, 3};
    Truth truth = {which == 0 ? "world" : which == 1 ? "low" : "high", ordinals_[which]++, {}};
    int64_t last = 0;
    for (const int rank : ranks) {
      now_[rank] += 1 + static_cast<int64_t>(random_() % 400);
      truth.parts.push_back({rank, now_[rank], 0});
      last = std::max(last, now_[rank]);
    }
    const int64_t end = last + 5 + static_cast<int64_t>(random_() % 20);
    for (Part& part : truth.parts) part.end = now_[part.rank] = end;
    truths_.push_back(std::move(truth));
  }

  std::mt19937_64 random_;
  bool with_ordinals_, one_clock_;
  int64_t recorded_from_[4] = {};
  int64_t now_[4] = {};
  std::map<uint64_t, int64_t> ordinals_;
  std::vector<Truth> truths_;
};

TEST(Collectives, AgreeWithTheTruthOfRandomJobs) {
  size_t told = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Job job(seed);
    const trace::Trace trace = job.Trace();
    const Context context(trace);
    const auto& calls = context.Shared<CollectiveCalls>().calls;
    const Collectives& found = context.Shared<Collectives>();
    std::map<std::pair<std::string, int64_t>, int64_t> waits;  // by rank, begin: of the truth
    size_t whole = 0, recorded = 0;
    for (const Job::Truth& truth : job.truths()) {
      int64_t last = 0;
      for (const Job::Part& part : truth.parts) {
        last = std::max(last, part.begin);
        recorded += job.Recorded(part);
      }
      if (!job.Whole(truth)) continue;
      ++whole;
      for (const Job::Part& part : truth.parts) {
        waits[{"rank" + std::to_string(part.rank), part.begin}] = last - part.begin;
      }
    }
    for (const Collective& collective : found.matched) {
      for (size_t i = 0; i < collective.calls.size(); ++i) {
        const CollectiveCall& call = calls[collective.calls[i]];
        const auto truth = waits.find({context.process_label(call.process), call.begin_ns});
        ASSERT_NE(truth, waits.end()) << "seed " << seed;
        EXPECT_EQ(collective.waited_ns[i], truth->second) << "seed " << seed;
      }
    }
    EXPECT_LE(found.matched.size(), whole) << "seed " << seed;
    if (job.with_ordinals()) {
      EXPECT_EQ(found.matched.size(), whole) << "seed " << seed;
    }
    size_t counted = 0;
    for (const Collective& collective : found.matched) counted += collective.calls.size();
    for (const Unmatched& unmatched : found.unmatched) {
      counted += static_cast<size_t>(unmatched.count);
    }
    EXPECT_EQ(counted, recorded) << "seed " << seed;  // every call is compared or counted
    told += found.matched.size();
  }
  EXPECT_GT(told, 2000u);
}

// The innermost of the lead's that is open where the call begins, by a look at all of them.
TEST(Collectives, HaveTheOperationInWhichTheyBegin) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 100; ++round) {
    struct Operation {
      int64_t begin, end;
    };
    std::vector<Operation> operations;
    std::string text = kTrace + Rank(0, 1000);
    text.insert(text.find("async"), "thread main lead\n");
    std::string lead;
    for (int64_t at = 0; at < 900;) {
      const auto begin = at + static_cast<int64_t>(random() % 30);
      const auto end = begin + 10 + static_cast<int64_t>(random() % 60);
      operations.push_back({begin, end});
      if (random() % 2 == 0) operations.push_back({begin + 3, end - 2});
      at = end;
    }
    for (size_t i = 0; i < operations.size(); ++i) {
      const int64_t begin = operations[i].begin, end = operations[i].end;
      lead += "op op" + std::to_string(i) + " " + std::to_string(begin) + " " +
              std::to_string(end) + "\nspan f " + std::to_string(begin + 1) + " " +
              std::to_string(begin + 2) + " python\n";  // is none
      const bool around = i + 1 < operations.size() && operations[i + 1].begin < end;
      if (!around) {
        lead += "span f " + std::to_string(begin + 4) + " " + std::to_string(end - 1) + " python\n";
      }
    }
    text.insert(text.find("async"), lead);
    std::vector<std::string> want;
    int64_t at = 0;
    for (int seq = 0; at < 980; ++seq) {
      at += static_cast<int64_t>(random() % 25);
      text += Call(at, at + 5, "a", seq);
      std::string in = "";
      for (size_t i = 0; i < operations.size(); ++i) {
        if (operations[i].begin <= at && at < operations[i].end) in = "op" + std::to_string(i);
      }
      want.push_back(in);
      at += 5;
    }
    const Table got = testing::Compute(Parse(text), "collective_calls");
    ASSERT_EQ(got.rows(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got.texts("operation")[i], want[i]);
  }
}

// Calls of two groups overlap on rank 0, and rank 1 comes late to both.
TEST(Collectives, WaitsThatOverlapCountOnceForTheEarlierOne) {
  const trace::Trace trace =
      Parse(kTrace + Rank(0, 900) + Call(0, 100, "a", 0) + "async others\n" +
            Call(50, 200, "b", 0) + Rank(1, 900) + Call(90, 100, "a", 0) + Call(150, 200, "b", 0));
  const Context context(trace);
  std::vector<std::pair<int64_t, int64_t>> waits;
  const auto by_process = RankWaits(context);
  for (const RankWait& wait : by_process[0]) {
    waits.emplace_back(wait.begin_ns, wait.end_ns);
    EXPECT_EQ(wait.last.value, 1);
  }
  int64_t end = 0, all = 0;
  for (const auto& [begin, until] : waits) {
    EXPECT_GE(begin, end);
    all += until - begin;
    end = until;
  }
  EXPECT_EQ(end, 150);
  EXPECT_EQ(all, end) << "from 0 on, without a hole";
}

}  // namespace
}  // namespace crosscut::analyze
