#include "src/format/open_stacks.h"

#include <algorithm>
#include <new>

#include "src/format/ring.h"

namespace crosscut::format {

OpenStacks::~OpenStacks() {
  for (Stack* stack : buckets_) {
    while (stack != nullptr) {
      Stack* next = stack->next;
      delete stack;
      stack = next;
    }
  }
}

OpenStacks::Stack* OpenStacks::Find(uint32_t track) {
  Stack** bucket = &buckets_[track % kBuckets];
  for (Stack* stack = *bucket; stack != nullptr; stack = stack->next) {
    if (stack->track == track) return stack;
  }
  Stack* stack = new (std::nothrow) Stack;
  if (stack == nullptr) {
    nowhere_.names.Clear();
    return &nowhere_;
  }
  bytes_ += sizeof(Stack);
  stack->track = track;
  stack->next = *bucket;
  *bucket = stack;
  return stack;
}

void OpenStacks::Erase(uint32_t track) {
  for (Stack** at = &buckets_[track % kBuckets]; *at != nullptr; at = &(*at)->next) {
    if ((*at)->track != track) continue;
    Stack* gone = *at;
    *at = gone->next;
    bytes_ -= sizeof(Stack) + gone->names.bytes();
    delete gone;
    return;
  }
}

bool OpenStacks::NameSet::Has(uint32_t name) const {
  if (name <= kLastNameCode) return (coded_[name / 64] >> name % 64 & 1) != 0;
  return std::find(wide_.begin(), wide_.end(), name) != wide_.end();
}

// Without memory a name is as one without attributes.
void OpenStacks::NameSet::Add(uint32_t name) {
  if (Has(name)) return;
  if (name <= kLastNameCode) {
    coded_[name / 64] |= uint64_t{1} << name % 64;
  } else {
    (void)wide_.Push(name);
  }
}

void OpenStacks::LearnNames(std::span<const uint64_t> words) {
  for (const auto event : EventsOf(words)) {
    if ((event[0] & kCodeMask) != kName) continue;
    const uint32_t name = static_cast<uint32_t>(event[1]);
    const NameAttributes facts = NameAttributes::Unpack(event[2]);
    if (facts.kind == kKindStep || facts.kind == kKindPhase) {
      flat_.Add(name);
    } else if (EndsByName(facts)) {
      if (facts.kind == kKindOperation) operations_.Add(name);
      if ((facts.flags & kFlagCrosses) != 0) crossing_.Add(name);
    } else if (facts.probe != 0 && name <= kLastNameCode) {
      hooked_.Add(name);  // a list of all the wide ones could be long
    }
    const bool frame = facts.kind == kKindSpan && (facts.flags & kFlagFrame) != 0;
    if (frame) frames_.Add(name);
  }
}

void OpenStacks::Begin(Stack* stack, uint32_t name) {
  if (flat_.Has(name)) return;
  const size_t before = stack->names.bytes();
  if (stack->names.size() >= kMaxOpenNames || !stack->names.Push(name)) ++stack->beyond;
  if (stack != &nowhere_) bytes_ += stack->names.bytes() - before;
}

void OpenStacks::End(Stack* stack) const {
  if (stack->beyond > 0) {
    --stack->beyond;
    return;
  }
  base::PodVector<uint32_t>& names = stack->names;
  size_t at = names.size();
  while (at > 0 && EndByName(names[at - 1])) --at;
  if (at == 0) return;
  for (; at < names.size(); ++at) names[at - 1] = names[at];
  names.Pop();
}

// As far as GoesOnAbove() needs to know.
NameAttributes OpenStacks::Facts(uint32_t name) const {
  NameAttributes facts;
  if (operations_.Has(name)) facts.kind = kKindOperation;
  if (crossing_.Has(name)) facts.flags = kFlagCrosses;
  facts.probe = facts.flags != 0 || hooked_.Has(name) ? 1 : 0;
  return facts;
}

void OpenStacks::EndNamed(Stack* stack, uint32_t name) const {
  base::PodVector<uint32_t>& names = stack->names;
  size_t at = names.size();
  while (at > 0 && names[at - 1] != name) --at;
  if (at == 0) return;
  const NameAttributes ended = Facts(name);
  size_t kept = at - 1;
  for (; at < names.size(); ++at) {
    if (GoesOnAbove(ended, Facts(names[at]))) names[kept++] = names[at];
  }
  names.Shrink(kept);
  stack->beyond = 0;
}

// What runs stands above the rest, in its order, and frames that are not in it are gone.
void OpenStacks::Running(Stack* stack, uint64_t payload) {
  base::PodVector<uint32_t>& names = stack->names;
  const auto name = static_cast<uint32_t>(payload);
  size_t kept = 0;
  for (size_t at = 0; !stack->running && at < names.size(); ++at) {
    if (!frames_.Has(names[at])) names[kept++] = names[at];
  }
  if (!stack->running) names.Shrink(kept);
  size_t at = (payload & kRunningBegun) != 0 ? 0 : names.size();
  while (at < names.size() && names[at] != name) ++at;
  for (; at + 1 < names.size(); ++at) names[at] = names[at + 1];
  if (at < names.size()) names.Pop();
  Begin(stack, name);
  stack->running = RunningToCome(payload) != 0;
}

OpenStacks::Stack* OpenStacks::FollowOther(Stack* stack, const uint64_t* event, uint32_t* track) {
  switch (event[0] & kCodeMask) {
    case kBeginWide: Begin(stack, static_cast<uint32_t>(event[1])); return stack;
    case kEndNamed: EndNamed(stack, static_cast<uint32_t>(event[1])); return stack;
    case kRunning: Running(stack, event[1]); return stack;
    case kThreadEnd: Erase(*track); return Find(*track);
    case kThread:
      *track = static_cast<uint32_t>(event[1]);
      stack = Find(*track);
      if ((event[3] & kThreadContinues) == 0) {
        stack->names.Clear();
        stack->beyond = 0;
        stack->running = false;
      }
      return stack;
    default: return stack;
  }
}

void OpenStacks::Follow(uint32_t* track, std::span<const uint64_t> words) {
  Stack* stack = Find(*track);
  for (size_t at = 0; at < words.size();) {
    const uint16_t code = static_cast<uint16_t>(words[at] & kCodeMask);
    if (code >= kFirstNameCode) {
      Begin(stack, code);
      ++at;
    } else if (code == kEnd) {
      End(stack);
      ++at;
    } else {
      const size_t length = EventLength(words, at);
      if (length == 0) return;
      stack = FollowOther(stack, words.data() + at, track);
      at += length;
    }
  }
}

std::span<const uint32_t> OpenStacks::Open(uint32_t track) { return Find(track)->names; }

}  // namespace crosscut::format
